// Git LFS at the double: objects of repositories, the batch API, and the
// storage that it leads to.
// https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md

import { createHash } from "node:crypto";
import { z } from "zod";
import { errorReply, UnexpectedRequest } from "./github_api.ts";
import type { Account, GithubState } from "./github_state.ts";

const BATCH_PATH = /^\/([^/]+\/[^/]+)\.git\/info\/lfs\/objects\/batch$/;
const STORAGE_PATH = /^\/lfs-storage\/([^/]+\/[^/]+)\/([0-9a-f]{64})$/;
const MEDIA_TYPE = "application/vnd.git-lfs+json";
const SIGNATURE = { "x-lfs-signature": "signed for an hour" };

/** What git-lfs sends for a download, and nothing else. */
const batchBody = z.strictObject({
  operation: z.literal("download"),
  transfers: z.tuple([z.literal("basic")]),
  objects: z.array(z.strictObject({
    oid: z.string().regex(/^[0-9a-f]{64}$/),
    size: z.int().min(0),
  })).min(1).max(100),
});

/** The text that git-lfs writes in the place of a file. */
export function pointerTo(content: string | Uint8Array): string {
  const bytes = typeof content === "string"
    ? new TextEncoder().encode(content)
    : content;
  const oid = createHash("sha256").update(bytes).digest("hex");
  return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${bytes.length}\n`;
}

/** Which request of Git LFS it is, if it is one. */
export function lfsRequestKind(
  { method, url }: Request,
): "lfs-batch" | "lfs" | null {
  const { pathname } = new URL(url);
  if (method === "POST" && BATCH_PATH.test(pathname)) return "lfs-batch";
  return method === "GET" && STORAGE_PATH.test(pathname) ? "lfs" : null;
}

/** The objects of all repositories. */
export class GithubLfs {
  /** Bytes by repository and id. */
  private readonly objects = new Map<string, Uint8Array<ArrayBuffer>>();
  /**
   * Where a download leads in place of the storage; `{oid}` stands for the
   * object.
   */
  href: string | null = null;

  /** Stores an object, and returns its pointer. */
  add(repository: string, content: string | Uint8Array): string {
    const bytes = typeof content === "string"
      ? new TextEncoder().encode(content)
      : new Uint8Array(content);
    const oid = createHash("sha256").update(bytes).digest("hex");
    this.objects.set(`${repository} ${oid}`, bytes);
    return pointerTo(bytes);
  }

  /** Stores other bytes for the pointer of this content, which it returns. */
  addWrong(repository: string, content: string): string {
    const pointer = this.add(repository, content);
    const [, oid] = /sha256:(\w+)/.exec(pointer)!;
    this.objects.get(`${repository} ${oid}`)![0]! ^= 1;
    return pointer;
  }

  /**
   * Answers a request. `account` is undefined for credentials that are not
   * valid.
   */
  async answer(
    request: Request,
    { state, account, origin }: {
      readonly state: GithubState;
      readonly account: Account | undefined;
      readonly origin: string;
    },
  ): Promise<Response> {
    const { pathname } = new URL(request.url);
    const [stored, repository, oid] = STORAGE_PATH.exec(pathname) ?? [];
    if (stored !== undefined) {
      if (request.headers.has("authorization")) {
        throw new UnexpectedRequest("a token at the storage");
      }
      const isSigned =
        request.headers.get("x-lfs-signature") === SIGNATURE["x-lfs-signature"];
      if (!isSigned) {
        throw new UnexpectedRequest("no header of the batch answer");
      }
      const bytes = this.objects.get(
        `${decodeURIComponent(repository!)} ${oid}`,
      );
      const type = { "content-type": "application/octet-stream" };
      return bytes === undefined
        ? new Response(null, { status: 404 })
        : new Response(bytes, { headers: type });
    }
    return await this.batch(request, { state, account, origin });
  }

  private async batch(
    request: Request,
    { state, account, origin }: Parameters<GithubLfs["answer"]>[1],
  ): Promise<Response> {
    for (const name of ["accept", "content-type"]) {
      if (request.headers.get(name) !== MEDIA_TYPE) {
        throw new UnexpectedRequest(`${name} of LFS`);
      }
    }
    const body = batchBody.safeParse(JSON.parse(await request.text()));
    if (!body.success) {
      throw new UnexpectedRequest(`LFS batch: ${body.error.message}`);
    }
    const name = decodeURIComponent(
      BATCH_PATH.exec(new URL(request.url).pathname)![1]!,
    );
    const redirect = state.redirectOf(name)?.target;
    if (redirect) {
      const location =
        `${origin}/${redirect.owner}/${redirect.name}.git/info/lfs/objects/batch`;
      return errorReply(301, "Moved Permanently", { location });
    }
    if (account === undefined) return errorReply(401, "Credentials needed");
    const found = state.find(name);
    if (found === null || !state.sees(account, found)) {
      return account === null
        ? errorReply(401, "Credentials needed")
        : errorReply(404, "Not found");
    }
    const objects = body.data.objects.map(({ oid, size }) => {
      const bytes = this.objects.get(`${found.owner}/${found.name} ${oid}`);
      if (bytes === undefined) {
        return {
          oid,
          size,
          error: { code: 404, message: "Object does not exist on the server" },
        };
      }
      const href = (this.href ??
        `${origin}/lfs-storage/${found.owner}/${found.name}/{oid}`)
        .replace("{oid}", oid);
      const download = { href, header: SIGNATURE, expires_in: 3600 };
      return { oid, size, authenticated: true, actions: { download } };
    });
    const headers = { "content-type": `${MEDIA_TYPE}; charset=utf-8` };
    return new Response(JSON.stringify({ transfer: "basic", objects }), {
      headers,
    });
  }
}
