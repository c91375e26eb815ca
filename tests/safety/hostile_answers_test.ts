// Answers of the source that try to lead the token away, to fill the memory, or
// to pass for other content.

import { assert, assertEquals } from "@std/assert";
import { itemPath, listPath } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const TOKEN = "ghp_canaryToken";
const ANONYMOUS = { MISSES_PER_MINUTE: "0" };
const ENV = { GITHUB_TOKEN: TOKEN, ...ANONYMOUS };
const ITEM = itemPath({ path: "posts/a.md" });
const WITH_CONTENT = listPath({ includeContent: true });
/**
 * How much of an answer is read, of a file hardly more than was announced; and
 * the status of a list with contents. Files that cannot be read are errors of
 * their items.
 */
const BOUNDS = {
  repo: { boundMb: 1, status: 502 },
  commit: { boundMb: 1, status: 502 },
  tree: { boundMb: 40, status: 502 },
  // Folders are read one by one instead.
  "tree-recursive": { boundMb: 40, status: 200 },
  graphql: { boundMb: 16, status: 200 },
  blob: { boundMb: 0, status: 200 },
  raw: { boundMb: 0, status: 200 },
};

type Answer = (
  real: () => Promise<Response>,
) => Response | null | Promise<Response>;

/** A site whose source gives `answer` to requests of one kind. */
async function start(
  kind = "none",
  answer: Answer = () => null,
  env: object = ENV,
): Promise<Site> {
  const files = { "posts/a.md": "# A\n", "posts/b.md": "# B\n" };
  const site = await startSite(files, { env: { ...env } });
  site.gh.intercept = (_request, logged, real) =>
    logged.kind === kind ? answer(real) : null;
  return site;
}

/**
 * The status of a response to a request; `what` names the case where it is
 * another one.
 */
async function expectStatus(
  site: Site,
  path: string,
  status: number,
  what: string,
): Promise<void> {
  assertEquals((await site.service.get(path)).status, status, what);
}

Deno.test("no redirect leads to another host, port or scheme", async () => {
  const reached: string[] = [];
  await using thief = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen() {},
  }, (request) => {
    reached.push(`${request.url} ${request.headers.get("authorization")}`);
    return Response.json({
      private: false,
      default_branch: "main",
      tree: [],
      truncated: false,
    });
  });
  const { port } = thief.addr;
  const locations = (api: URL) => [
    `http://127.0.0.1:${port}/repos/octo/site`,
    `//127.0.0.1:${port}/repos/octo/site`,
    `\\\\127.0.0.1:${port}\\repos\\octo\\site`,
    `https://${api.host}/repos/octo/site`,
    `http://${api.host}@127.0.0.1:${port}/repos/octo/site`,
    `http://127.0.0.1:${port}#@${api.host}/repos/octo/site`,
    `http://127.0.0.1:${port}/..//${api.host}/repos/octo/site`,
    "ftp:",
    "data:application/json,{}",
    "file:///etc/passwd",
    "",
    "http://",
    "/user",
    "/repos/octo/site/../../user",
    "/repos/octo%2f..%2f..%2fuser/x",
    "/repos/../user",
  ];
  for (const env of [ENV, ANONYMOUS]) {
    for (const status of [301, 302, 307]) {
      await using site = await start("none", () => null, env);
      const { gh, service } = site;
      let count = 0;
      for (const location of locations(new URL(gh.apiUrl))) {
        for (
          const kind of ["repo", "commit", "tree", "blob", "graphql", "raw"]
        ) {
          gh.intercept = (_request, logged) =>
            logged.kind.startsWith(kind)
              ? new Response(null, { status, headers: { location } })
              : null;
          // Each time as another repository, so that nothing is cached.
          const owner = `o${++count}`;
          gh.add(`${owner}/site`, site.repository);
          const response = await service.get(
            listPath({ owner, includeContent: true }),
          );
          assert(
            [200, 404, 502].includes(response.status),
            `${response.status} ${location}`,
          );
        }
        service.clock.advance(61_000);
      }
      assertEquals(
        gh.requests.filter(({ path }) => path.startsWith("/user")),
        [],
      );
    }
  }
  assertEquals(reached, []);
});

Deno.test("an answer without end is cut at its bound", async () => {
  for (const [kind, { boundMb, status }] of Object.entries(BOUNDS)) {
    const endless: Promise<number>[] = [];
    const answer = () => {
      const { body, sentMb } = endlessBody();
      endless.push(sentMb);
      return new Response(body);
    };
    const env = kind === "raw" ? ANONYMOUS : ENV;
    await using site = await start(kind, answer, env);
    if (kind === "blob") {
      site.gh.fault = { kind: "status", status: 500, only: ["graphql"] };
    }
    await expectStatus(site, WITH_CONTENT, status, kind);

    assert(endless.length > 0, kind);
    for (const sentMb of await Promise.all(endless)) {
      // The sockets' buffers between the two count as sent, too.
      assert(sentMb <= boundMb + 32, `${kind}: ${sentMb} MB`);
    }
  }
});

/**
 * Blanks without end, or nearly, and how many MB of them were sent when the
 * reader left.
 */
function endlessBody() {
  const { promise, resolve } = Promise.withResolvers<number>();
  const piece = new Uint8Array(1 << 20).fill(0x20);
  let sentMb = 0;
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(piece);
      if (++sentMb < 256) return;
      resolve(sentMb);
      controller.close();
    },
    cancel: () => resolve(sentMb),
  }, { highWaterMark: 0 });
  return { body, sentMb: promise };
}

Deno.test("an answer of another kind is a failure of the source", async () => {
  const bodies = [
    "null",
    "[]",
    "{}",
    "0",
    '""',
    '{"tree":{}}',
    '{"tree":[[]]}',
    '{"data":[]}',
    "",
    '{"private":"false","default_branch":"main"}',
    '{"private":false,"default_branch":7}',
    '{"__proto__":{"private":false,"default_branch":"main","tree":[]}}',
    "[".repeat(100_000),
    "\ufeff",
    "\xff\xfe{}",
  ];
  const ids = [
    "../../user",
    "HEAD",
    "a".repeat(39),
    "A".repeat(40),
    `${"a".repeat(40)}\n/x`,
  ];
  for (const kind of ["repo", "commit", "tree", "blob"]) {
    for (const body of kind === "commit" ? [...bodies, ...ids] : bodies) {
      await using site = await start(kind, () => new Response(body));
      await expectStatus(site, ITEM, 502, `${kind} ${body.slice(0, 60)}`);
      if (kind === "commit") {
        assertEquals(site.gh.counts().tree, undefined, body);
      }
    }
  }
});
