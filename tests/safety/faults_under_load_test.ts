// The service as a process of its own, behind a GitHub that fails in every way while requests keep coming. Known answers
// stay right, others are problems of the contract, and in the end everything is as it was.

import { assert, assertEquals } from "@std/assert";
import { makeGitRepository } from "../github/git_repository.ts";
import type { Fault } from "../github/github_faults.ts";
import { startDouble } from "../github/start_double.ts";
import { serveTask } from "../run_task.ts";
import { itemPath, listPath } from "../service.ts";

const FILES = { "posts/a.md": "# A\n", "posts/b.md": "# B\n", "posts/c/d.md": "# D\n" };
const TOKEN = "ghp_token";
const KNOWN = 5;
/** Repositories without any request so far, for each fault. */
const NEW_EACH = 20;
const CLIENTS = 10;
const TURNS = 10;

/** Each with the status of a request that needs the source under it. */
const ATTACKS: readonly (readonly [Fault | "down", number])[] = [
  [{ kind: "status", status: 500 }, 502],
  [{ kind: "status", status: 404 }, 404],
  [{ kind: "status", status: 451 }, 451],
  [{ kind: "garbage" }, 502],
  [{ kind: "wrong-bytes" }, 502],
  [{ kind: "evil-tree", entries: [{ path: "../x", mode: "100644", sha: "1", size: 1 }] }, 502],
  [{ kind: "slow", delayMs: 100 }, 200],
  // After these the source is not queried for a while.
  [{ kind: "reset" }, 502],
  [{ kind: "cut" }, 502],
  ["down", 502],
];
/** A request on its way when a fault begins or ends may meet the one before, or none. */
const ALWAYS = [200, 502];
const PATHS = [
  (owner: string) => listPath({ owner }),
  (owner: string) => listPath({ owner, includeContent: true }),
  (owner: string) => itemPath({ owner, path: "posts/c/d.md" }),
];

Deno.test("the service goes on through every fault of its source, under load", async () => {
  await using git = await makeGitRepository(FILES);
  const names = Array.from({ length: KNOWN + NEW_EACH * ATTACKS.length }, (_, n) => `o${n}/site`);
  await using double = await startDouble({
    repositories: Object.fromEntries(names.map((name) => [name, { dir: git.dir }])),
    token: TOKEN,
  });
  await using service = await serveTask("start", {
    env: { GITHUB_API_URL: double.apiUrl, GITHUB_TOKEN: TOKEN, MISSES_PER_MINUTE: "0" },
  });
  /** Right bodies for the first repository, by path; those of the others differ in its name alone. */
  const right = new Map<string, string>();
  for (let index = 0; index < KNOWN; index++) {
    for (const pathOf of PATHS) {
      const path = pathOf(`o${index}`);
      const response = await fetch(service.url + path);
      assertEquals([path, response.status], [path, 200]);
      right.set(path, await response.text());
    }
  }
  const check = async (path: string, allowed: readonly number[]) => {
    const response = await fetch(service.url + path);
    const { headers, status } = response;
    const text = await response.text();
    assertEquals(headers.get("access-control-allow-origin"), "*");
    assert(allowed.includes(status), `${status} ${path} ${text.slice(0, 300)}`);
    const body = JSON.parse(text);
    if (status !== 200) return assertEquals(body.requestId, headers.get("x-request-id"));
    if (body.items?.some(({ error }: { error?: unknown }) => error !== undefined)) return;
    const owner = /owner=(o\d+)/.exec(path)![1]!;
    const expected = right.get(path.replace(owner, "o0"))!;
    assertEquals(text, expected.replaceAll(/\bo0\b/g, owner));
  };

  let repositories = KNOWN;
  for (const [fault, expected] of ATTACKS) {
    await (fault === "down" ? double.call("down") : double.call("set", { fault }));
    const end = repositories + NEW_EACH;
    await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
      for (let turn = 0; turn < TURNS; turn++) {
        const pathOf = PATHS[turn % PATHS.length]!;
        if ((turn + client) % 2 === 0) await check(pathOf(`o${turn % KNOWN}`), [200]);
        else if (repositories < end) {
          await check(pathOf(`o${repositories++}`), [expected, ...ALWAYS]);
        }
      }
    }));
    repositories = end;
    await (fault === "down" ? double.call("up") : double.call("set", { fault: null }));
  }
  for (const path of right.keys()) await check(path, [200]);

  service.signal("SIGTERM");
  const { stdout } = await service.ended;
  assert(!stdout.includes('"internal error"'), stdout);
  assertEquals(await double.call("unexpected"), []);
});
