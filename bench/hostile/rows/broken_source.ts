// A host that answers in GitHub's place with what GitHub never sends: JSON that
// is deep, wide or long, bodies that unpack to very much, that hardly move, or
// that fail.

import { gzipSync } from "node:zlib";
import { makeGitRepository } from "../../../tests/github/git_repository.ts";
import { OWNERS } from "../source_names.ts";
import {
  coldList,
  flood,
  gitFiles,
  many,
  posts,
  repeat,
  type Row,
} from "../row.ts";

const MIB = 1 << 20;
const ID = "1".repeat(40);

const json = (
  text: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
) =>
  new Response(text, {
    headers: { "content-type": "application/json", ...headers },
  });

const filled = (bytes: number, char: string) =>
  new Uint8Array(bytes).fill(char.charCodeAt(0));

const blob = (path: string) => ({
  path,
  mode: "100644",
  type: "blob",
  sha: ID,
  size: 1,
});
const treeOf = (entries: readonly unknown[]) =>
  json(JSON.stringify({ sha: ID, url: "", tree: entries, truncated: false }));

/** A value that is made when it is first needed, and kept. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

/** A row that answers every tree so. */
function trees(name: string, answer: () => Response): Row {
  return {
    name,
    attacker: "broken source",
    answer: (kind) => kind.startsWith("tree") ? answer() : null,
    attack: flood(
      { times: 6, atOnce: 3 },
      (n, { list }) => list({ owner: OWNERS[n]! }),
    ),
  };
}

const GZIP_BOMB = once(() => new Uint8Array(gzipSync(filled(512 * MIB, " "))));
const SPACES = once(() => filled(60 * MIB, " "));
const BRACKETS = once(() => filled(60 * MIB, "["));
const OBJECTS = once(() => new TextEncoder().encode(`{"a":`.repeat(10 * MIB)));

export const BROKEN_SOURCE_ROWS: readonly Row[] = [
  trees("broken-brackets", () => json(BRACKETS())),
  trees("broken-objects", () => json(OBJECTS())),
  trees("broken-spaces", () => json(SPACES())),
  trees("broken-gzip", () => json(GZIP_BOMB(), { "content-encoding": "gzip" })),
  trees("broken-tree", () => treeOf(many(99_000, (n) => blob(`post-${n}.md`)))),
  trees(
    "broken-names",
    () => treeOf(many(20, (n) => blob(`${n}${"x".repeat(MIB)}`))),
  ),
  trees(
    "broken-segments",
    () => treeOf(many(4, (n) => blob(`${"a/".repeat(2 * MIB)}${n}`))),
  ),
  trees(
    "broken-entries",
    () => treeOf(many(300_000, (n) => n % 2 === 0 ? null : {})),
  ),
  {
    name: "broken-branch",
    attacker: "broken source",
    answer: (kind, path) => {
      if (kind === "commit" && !path.includes("main")) {
        return new Response("{}", { status: 404 });
      }
      if (kind !== "repo") return null;
      const names = {
        name: "broken-branch",
        full_name: path.split("/").slice(2, 4).join("/"),
      };
      const state = { id: 1, ...names, private: false, visibility: "public" };
      return json(
        JSON.stringify({ ...state, default_branch: "b".repeat(1_000_000) }),
      );
    },
    attack: flood(
      { times: 60, atOnce: 10 },
      (n, { list }) =>
        list({
          owner: OWNERS[n % 8]!,
          branch: n % 4 === 0 ? "HEAD" : `none-${n}`,
        }),
    ),
  },
  {
    name: "broken-graphql",
    attacker: "broken source",
    repository: () =>
      makeGitRepository(
        gitFiles(posts(many(200, (n) => `---\nk: ${n}\n---\n`))),
      ),
    answer: (kind) => {
      if (kind !== "graphql") return null;
      const objects = repeat(250_000, (n) => `"x${n}":{"text":"${n}"},`);
      const errors = repeat(100_000, () => `{"type":"OTHER"},`);
      return json(
        `{"data":{"repository":{${objects}"y":null}},"errors":[${errors}{}]}`,
      );
    },
    attack: flood(
      { times: 4, atOnce: 2 },
      (n, { list }) =>
        list({ owner: OWNERS[n]!, includeContent: true, limit: 100 }),
    ),
  },
  {
    // As many values as an answer about history may have, each of another
    // shape.
    name: "broken-history",
    attacker: "broken source",
    repository: () => makeGitRepository(gitFiles(posts(["x", "y", "z"]))),
    answer: (kind) =>
      kind !== "graphql" ? null : json(
        `{"data":{"repository":{"object":{"parents":{"nodes":[${
          repeat(340_000, () => "{},")
        }{}]}}}}}`,
      ),
    attack: flood(
      { times: 8, atOnce: 4 },
      (n, { list }) => list({ owner: OWNERS[n]!, includeHistory: true }),
    ),
  },
  {
    // A byte now and then, so that no read of the body ever waits long.
    name: "broken-drip",
    attacker: "broken source",
    answer: (kind) => {
      if (!kind.startsWith("tree")) return null;
      let timer: ReturnType<typeof setInterval> | undefined;
      const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
        start: (controller) => {
          const send = () => controller.enqueue(filled(1, " "));
          timer = setInterval(send, 200);
        },
        cancel: () => clearInterval(timer),
      });
      return new Response(body, {
        headers: { "content-type": "application/json" },
      });
    },
    attack: async (attacker, { list }) => {
      const held = Promise.all(
        many(
          20,
          (k) =>
            attacker.from(k + 1).flood(
              { times: 8, atOnce: 8 },
              (n) =>
                list({
                  owner: OWNERS[n % 8]!,
                  branch: "main",
                  collection: `c${k}`,
                }),
            ),
        ),
      );
      await attacker.wait(2_000);
      const options = { withinMs: 3_000 };
      await attacker.bystander(
        "another client's cold list",
        coldList(),
        options,
      );
      await held;
    },
    withinMs: 20_000,
  },
  {
    name: "broken-errors",
    attacker: "broken source",
    answer: (kind) =>
      kind.startsWith("tree")
        ? new Response("x".repeat(100_000), { status: 500 })
        : null,
    attack: async (attacker, { list }) => {
      await Promise.all(
        many(
          20,
          (k) =>
            attacker.from(k + 1).flood(
              { times: 100, atOnce: 4 },
              (n) => list({ owner: OWNERS[n % 8]!, collection: `c${k}-${n}` }),
            ),
        ),
      );
    },
    withinMs: 20_000,
    // 2,000 requests, while the service waits longer after each failure.
    check: ({ sourceRequests }) =>
      sourceRequests <= 500
        ? null
        : `the source had ${sourceRequests} requests while it failed`,
  },
  {
    // Every branch of a repository whose names begin alike comes with one of
    // them.
    name: "broken-refs",
    attacker: "broken source",
    env: { GITHUB_TOKEN: "", GITHUB_GIT_URL: "{git}" },
    lsRefs: once(() => {
      const line = (text: string) =>
        `${(text.length + 5).toString(16).padStart(4, "0")}${text}\n`;
      const body = repeat(60_000, (n) => line(`${ID} refs/heads/main-${n}`)) +
        "0000";
      const type = "application/x-git-upload-pack-result";
      return () => new Response(body, { headers: { "content-type": type } });
    })(),
    attack: flood(
      { times: 20, atOnce: 4 },
      (n, { list }) =>
        list({ owner: OWNERS[n % 8]!, repo: "ordinary", branch: "main" }),
    ),
  },
];
