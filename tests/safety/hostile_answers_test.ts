// Answers of the source that try to lead the token away, to fill the memory, or to pass for other content.

import { assert, assertEquals } from "@std/assert";
import { gzip } from "node:zlib";
import { promisify } from "node:util";
import type { LoggedRequest } from "../github/github_log.ts";
import { itemPath, listPath } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const TOKEN = "ghp_canaryToken";
const ENV = { GITHUB_TOKEN: TOKEN, MISSES_PER_MINUTE: "0" };
const FILES = { "posts/a.md": "# A\n", "posts/b.md": "# B\n" };
/** How much of an answer is read, in MiB; of a file hardly more than was announced. */
const BOUNDS_MB = {
  ...{ repo: 1, commit: 1, tree: 64, "tree-recursive": 64, graphql: 16, blob: 0, raw: 0 },
};
/** Marks a request that the double is to answer itself. */
const REAL = "x-real";

async function start(env: Record<string, string> = ENV): Promise<Site> {
  const site = await startSite(FILES, { env });
  site.gh.addToken(TOKEN);
  return site;
}

/** A server that writes down whatever reaches it. */
function startThief() {
  const reached: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    reached.push(`${request.url} ${request.headers.get("authorization")}`);
    return Response.json({ private: false, default_branch: "main", tree: [], truncated: false });
  });
  const { port } = server.addr;
  return { reached, port, [Symbol.asyncDispose]: () => server.shutdown() };
}

Deno.test("no redirect leads to another host, port or scheme, whatever is redirected", async () => {
  await using thief = startThief();
  const { port } = thief;
  const locations = (api: URL) => [
    `http://127.0.0.1:${port}/repos/octo/site`,
    `//127.0.0.1:${port}/repos/octo/site`,
    `\\\\127.0.0.1:${port}\\repos\\octo\\site`,
    `https://${api.host}/repos/octo/site`,
    `http://${api.host}@127.0.0.1:${port}/repos/octo/site`,
    `http://127.0.0.1:${port}#@${api.host}/repos/octo/site`,
    `http://127.0.0.1:${port}/..//${api.host}/repos/octo/site`,
    ...["ftp:", "data:application/json,{}", "file:///etc/passwd", "", "http://", "/user"],
    ...["/repos/octo/site/../../user", "/repos/octo%2f..%2f..%2fuser/x", "/repos/../user"],
  ];
  for (const env of [ENV, { MISSES_PER_MINUTE: "0" }]) {
    for (const status of [301, 302, 307]) {
      await using site = await start(env);
      const { gh, service } = site;
      let count = 0;
      for (const location of locations(new URL(gh.apiUrl))) {
        for (const kind of ["repo", "commit", "tree", "blob", "graphql", "raw"]) {
          gh.intercept = (_request, logged) =>
            logged.kind.startsWith(kind)
              ? new Response(null, { status, headers: { location } })
              : null;
          // Each time as another repository, so that nothing is cached.
          const owner = `o${++count}`;
          gh.add(`${owner}/site`, site.repository);
          const response = await service.get(listPath({ owner, includeContent: true }));
          assert([200, 404, 502].includes(response.status), `${response.status} ${location}`);
          await response.body?.cancel();
        }
        service.clock.advance(61_000);
      }
      assertEquals(gh.requests.filter(({ path }) => path.startsWith("/user")), []);
    }
  }
  assertEquals(thief.reached, []);
});

/** The double's own answer, body and all; an `intercept` lets it through by its header. */
async function realAnswer(request: Request, logged: LoggedRequest): Promise<Response> {
  const headers = new Headers(request.headers);
  headers.set(REAL, "1");
  const body = request.method === "POST" ? await request.text() : null;
  const real = await fetch(request.url, { method: request.method, headers, body });
  logged.status = real.status;
  return new Response(await real.bytes(), real);
}

Deno.test("an answer that unpacks to more than its bound is none, right as it may be", async () => {
  const pack = promisify(gzip);
  for (const kind of ["repo", "tree", "tree-recursive", "graphql"] as const) {
    await using site = await start();
    const { gh, service } = site;
    let asked = 0;
    gh.intercept = async (request, logged) => {
      if (request.headers.has(REAL) || logged.kind !== kind) return null;
      asked++;
      const real = await realAnswer(request, logged);
      // JSON may be followed by blanks: a reader of all of them would find the answer right.
      const long = new Uint8Array((BOUNDS_MB[kind] + 1) << 20).fill(0x20);
      long.set(await real.bytes());
      const headers = new Headers(real.headers);
      headers.delete("content-length");
      headers.set("content-encoding", "gzip");
      return new Response(new Uint8Array(await pack(long, { level: 1 })), { headers });
    };

    const response = await service.get(listPath({ includeContent: true }));
    // What GraphQL does not give is read from the blobs API.
    const isBatch = kind === "graphql";
    assertEquals([kind, asked > 0, response.status], [kind, true, isBatch ? 200 : 502]);
    assertEquals([kind, gh.counts().blob ?? 0], [kind, isBatch ? 2 : 0]);
    await response.body?.cancel();
  }
});

Deno.test("an answer without end is cut at its bound, whatever was requested", async () => {
  for (const [kind, boundMb] of Object.entries(BOUNDS_MB)) {
    await using site = await start(kind === "raw" ? { MISSES_PER_MINUTE: "0" } : ENV);
    const { gh, service } = site;
    if (kind === "blob") gh.fault = { kind: "status", status: 500, only: ["graphql"] };
    const endless: Promise<number>[] = [];
    gh.intercept = (_request, logged) => {
      if (logged.kind !== kind) return null;
      const { body, sentMb } = endlessBody();
      endless.push(sentMb);
      return new Response(body);
    };
    const response = await service.get(listPath({ includeContent: true }));
    await response.body?.cancel();

    assert(endless.length > 0, kind);
    for (const sentMb of await Promise.all(endless)) {
      // The sockets' buffers between the two count as sent, too.
      assert(sentMb <= boundMb + 32, `${kind}: ${sentMb} MB`);
    }
  }
});

/** Blanks without end, or nearly, and how many MB of them were sent when the reader left. */
function endlessBody() {
  const { promise, resolve } = Promise.withResolvers<number>();
  const piece = new Uint8Array(1 << 18).fill(0x20);
  let sent = 0;
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(piece);
      if (++sent < 1024) return;
      resolve(sent / 4);
      controller.close();
    },
    cancel: () => resolve(sent / 4),
  }, { highWaterMark: 0 });
  return { body, sentMb: promise };
}

Deno.test("JSON that is something else than was requested is a failure of the source", async () => {
  const bodies = [
    "null",
    "[]",
    "{}",
    "0",
    '""',
    '{"tree":{}}',
    '{"tree":[[]]}',
    '{"data":[]}',
    '{"private":"false","default_branch":"main"}',
    '{"private":false,"default_branch":7}',
    '{"__proto__":{"private":false,"default_branch":"main","tree":[]}}',
    "[".repeat(100_000),
    "\ufeff",
    "\xff\xfe{}",
    "",
  ];
  for (const kind of ["repo", "commit", "tree", "blob"]) {
    for (const body of bodies) {
      await using site = await start();
      const { gh, service } = site;
      gh.intercept = (_request, logged) =>
        logged.kind === kind
          ? new Response(body, { headers: { "content-type": "application/json" } })
          : null;
      const response = await service.get(itemPath({ path: "posts/a.md" }));
      assertEquals([kind, body.slice(0, 60), response.status], [kind, body.slice(0, 60), 502]);
      await response.body?.cancel();
    }
  }
});

Deno.test("a commit id that is none never becomes part of a request", async () => {
  const ids = ["../../user", "HEAD", "a".repeat(39), "A".repeat(40), `${"a".repeat(40)}\n/x`, ""];
  for (const id of ids) {
    await using site = await start();
    const { gh, service } = site;
    gh.intercept = (_request, logged) => logged.kind === "commit" ? new Response(id) : null;

    assertEquals([id, (await service.get(listPath())).status], [id, 502]);
    assertEquals(gh.counts()["tree"], undefined);
  }
});

Deno.test("a 304 without a conditional request is no answer, for visibility neither", async () => {
  for (const kind of ["repo", "commit"]) {
    await using site = await start();
    site.gh.intercept = (_request, logged) =>
      logged.kind === kind ? new Response(null, { status: 304 }) : null;

    assertEquals([kind, (await site.service.get(listPath())).status], [kind, 502]);
  }
});

Deno.test("contents that do not hash to their id are never given, by any way", async () => {
  for (const env of [ENV, { MISSES_PER_MINUTE: "0" }, { ...ENV, GITHUB_RAW_URL: "" }]) {
    await using site = await start(env);
    const { gh, service } = site;
    gh.fault = { kind: "wrong-bytes" };

    const { items } = await service.list({ includeContent: true });
    assertEquals(items.map(({ content, error }) => [content, error?.code]), [
      [undefined, "source-failed"],
      [undefined, "source-failed"],
    ]);
    service.clock.advance(61_000);
    for (const format of ["json", "raw"]) {
      assertEquals((await service.get(itemPath({ path: "posts/a.md", format }))).status, 502);
    }
  }
});
