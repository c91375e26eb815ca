// The running service, as a process of its own, behind a GitHub that fails in every way while requests keep coming. What
// is known is answered right, what is not with a problem of the contract, and in the end all is as it was.

import { assert, assertEquals } from "@std/assert";
import { makeGitRepository } from "../github/git_repository.ts";
import type { Fault } from "../github/github_faults.ts";
import { type RunningDouble, startDouble } from "../github/start_double.ts";
import { itemPath, listPath } from "../service.ts";
import { type ServiceChild, startChild } from "./service_child.ts";

const FILES = { "posts/a.md": "# A\n", "posts/b.md": "# B\n", "posts/c/d.md": "# D\n" };
const TOKEN = "ghp_token";
const KNOWN = 5;
/** Repositories that nothing is known of, for each fault. */
const COLD_EACH = 40;
const CALLERS = 16;
/** Requests of each caller under each fault, every other one for what is not known. */
const TURNS = 20;

/** A fault, and what a request that needs the source may meet under it. */
type Attack = readonly [Fault | "down", readonly number[]];

const ANSWERED: readonly Attack[] = [
  [{ kind: "status", status: 500 }, [502]],
  [{ kind: "status", status: 404 }, [404]],
  [{ kind: "status", status: 451 }, [451]],
  [{ kind: "forbidden" }, [404]],
  [{ kind: "garbage" }, [502]],
  [{ kind: "html" }, [502]],
  [{ kind: "wrong-bytes" }, [200, 502]],
  [{ kind: "evil-tree", entries: [{ path: "../x", mode: "100644", sha: "1", size: 1 }] }, [502]],
  [{ kind: "slow", delayMs: 100 }, [200]],
];
/** After these the source is left alone for a while, so that each has to be the last that a service meets. */
const UNREACHABLE: readonly Attack[] = [
  [{ kind: "hang" }, [504]],
  [{ kind: "stall" }, [504]],
  [{ kind: "reset" }, [502]],
  [{ kind: "cut" }, [502]],
  ["down", [502]],
];
/** What is on its way when a fault begins or ends may meet the one before, or none. */
const ALWAYS = [200, 502];
const WAYS = [
  (owner: string) => listPath({ owner }),
  (owner: string) => listPath({ owner, includeContent: true }),
  (owner: string) => itemPath({ owner, path: "posts/c/d.md" }),
];

interface Seen {
  readonly path: string;
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function get(service: ServiceChild, path: string): Promise<Seen> {
  const response = await fetch(service.origin + path, { signal: AbortSignal.timeout(60_000) });
  const { status, headers } = response;
  return { path, status, headers, text: await response.text() };
}

/** One service, what it has to answer, and repositories that it was not asked for yet. */
class Load {
  /** Right answers for the first repository, by path; those for the others differ in its name alone. */
  readonly right = new Map<string, string>();
  readonly problems = new Set<string>();
  private cold = KNOWN;

  constructor(private readonly service: ServiceChild, private readonly double: RunningDouble) {}

  async warm(): Promise<void> {
    for (let index = 0; index < KNOWN; index++) {
      for (const way of WAYS) {
        const { path, status, text } = await get(this.service, way(`o${index}`));
        assertEquals([path, status], [path, 200]);
        this.right.set(path, text);
      }
    }
  }

  async run([fault, expected]: Attack): Promise<void> {
    if (fault === "down") await this.double.call("down");
    else await this.double.call("set", { fault });
    const coldEnd = this.cold + COLD_EACH;
    await Promise.all(Array.from({ length: CALLERS }, async (_, caller) => {
      for (let turn = 0; turn < TURNS; turn++) {
        const way = WAYS[turn % WAYS.length]!;
        if ((turn + caller) % 2 === 0) await this.ask(way(`o${turn % KNOWN}`), [200]);
        else if (this.cold < coldEnd) {
          await this.ask(way(`o${this.cold++}`), [...expected, ...ALWAYS]);
        }
      }
    }));
    this.cold = coldEnd;
    if (fault === "down") await this.double.call("up");
    else await this.double.call("set", { fault: null });
  }

  async ask(path: string, allowed: readonly number[]): Promise<void> {
    const { status, text, headers } = await get(this.service, path);
    assertEquals(headers.get("access-control-allow-origin"), "*");
    assert(allowed.includes(status), `${status} ${path} ${text.slice(0, 300)}`);
    if (status !== 200) {
      const { code, requestId } = JSON.parse(text);
      assertEquals(requestId, headers.get("x-request-id"));
      this.problems.add(code);
      return;
    }
    const { items = [] }: { items: { error?: unknown }[] } = JSON.parse(text);
    if (items.some(({ error }) => error !== undefined)) return;
    const owner = /owner=(o\d+)/.exec(path)![1]!;
    const right = this.right.get(path.replace(owner, "o0"))!;
    assertEquals(text, right.replaceAll(/\bo0\b/g, owner));
  }
}

async function startRepositories(cleanup: AsyncDisposableStack): Promise<RunningDouble> {
  const git = cleanup.use(await makeGitRepository(FILES));
  const names = Array.from(
    { length: KNOWN + COLD_EACH * (ANSWERED.length + 1) + 1 },
    (_, index) => `o${index}/site`,
  );
  const double = cleanup.use(
    await startDouble({
      repositories: Object.fromEntries(names.map((name) => [name, { dir: git.dir }])),
      tokens: { [TOKEN]: {} },
    }),
  );
  const plenty = { limit: 1_000_000, remaining: 1_000_000 };
  await double.call("setQuota", TOKEN, plenty);
  await double.call("setQuota", TOKEN, { ...plenty, resource: "graphql" });
  return double;
}

Deno.test("the service goes on through every fault of its source, under load", async (t) => {
  await using cleanup = new AsyncDisposableStack();
  const double = await startRepositories(cleanup);
  const problems = new Set<string>();

  for (const [index, last] of UNREACHABLE.entries()) {
    const name = typeof last[0] === "string" ? last[0] : last[0].kind;
    await t.step(name, async () => {
      await using service = await startChild({
        env: {
          GITHUB_API_URL: double.apiUrl,
          GITHUB_TOKEN: TOKEN,
          MISSES_PER_MINUTE: "0",
          // Where nothing hangs, nothing that is only slow is cut short.
          SOURCE_TIMEOUT_MS: name === "hang" || name === "stall" ? "3000" : "60000",
        },
      });
      const load = new Load(service, double);
      await load.warm();
      for (const attack of [...name === "reset" ? ANSWERED : [], last]) await load.run(attack);
      for (const path of load.right.keys()) await load.ask(path, [200]);
      if (index === 0) await waitUntilBack(service);
      for (const code of load.problems) problems.add(code);
      assert(!service.output.includes('"internal error"'), service.output);
    });
  }

  assertEquals([...problems].sort(), [
    "repository-blocked",
    "repository-not-found",
    "source-failed",
    "source-timeout",
  ]);
  assertEquals(await double.call("unexpected"), []);
});

/** Asks for what is not known until the source is asked again. */
async function waitUntilBack(service: ServiceChild): Promise<void> {
  const path = itemPath({
    owner: `o${KNOWN + COLD_EACH * (ANSWERED.length + 1)}`,
    path: "posts/a.md",
  });
  const until = performance.now() + 30_000;
  let answer = await get(service, path);
  while (answer.status !== 200 && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    answer = await get(service, path);
  }
  assertEquals(JSON.parse(answer.text).content, "# A\n");
}
