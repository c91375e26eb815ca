// `deno task bench:feed`: two processes that publish 80 names at once on one
// SQLite file, 1,000 times (`--rounds`), beside a process that writes objects:
// how many names one of them does not hear. Then one process without a token
// that has 3,000 refs in use (`--refs`): how soon a push to one of them shows.

import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { signatureOf } from "../tests/github/served_repository.ts";
import { startDouble } from "../tests/github/start_double.ts";
import { configFlag } from "../tests/run_task.ts";
import { listPath } from "../tests/service.ts";
import { root } from "../tests/source_files.ts";
import {
  DATA_FOLDER,
  get,
  pause,
  startProcess,
  startService,
  textOf,
} from "./processes.ts";
import {
  atMost,
  flag,
  type Goal,
  median,
  number,
  p99,
  runBench,
} from "./report.ts";

const rounds = Number(flag("rounds", "1000"));
const refs = Number(flag("refs", "3000"));
const ROUND_MS = 100;
const NAMES = 80;
/**
 * A push that is not polled within a second is heard 60 s after its publication
 * at most.
 */
const SETTLE_MS = 20_000;
const PUSHES = 20;
const SECRET = "bench-secret";
const READ_AT_ONCE = 8;

interface Heard {
  readonly heard: number;
  readonly repeated: number;
  readonly objects: number;
  readonly failures: Readonly<Record<string, number>>;
}

/** What the processes that publish hear of each other. */
async function measureFeed(cleanup: AsyncDisposableStack) {
  const path = join(root, DATA_FOLDER, "feed");
  const startAtMs = Date.now() + 4_000;
  const start = async (task: string, id: string) => {
    const outputFile = `${path}-${id}.log`;
    const command = [
      ...[Deno.execPath(), "run", await configFlag(), "-A"],
      ...["bench/feed_process.ts", task, id, path],
      ...[startAtMs, rounds, ROUND_MS].map(String),
    ];
    const process = cleanup.use(startProcess(command, { outputFile }));
    return async (): Promise<Heard> => {
      await process.status;
      const lines = (await Deno.readTextFile(outputFile)).trim().split("\n");
      return JSON.parse(lines.at(-1)!);
    };
  };
  const processes = [
    await start("publish", "one"),
    await start("publish", "two"),
    await start("write", "writer"),
  ];
  const endMs = startAtMs + rounds * ROUND_MS + SETTLE_MS;
  await pause(endMs - Date.now());
  await Deno.writeTextFile(`${path}.end`, "");
  const [one, two, writer] = await Promise.all(
    processes.map((ended) => ended()),
  );
  const published = rounds * NAMES;
  return {
    conditions: [
      `${
        number(rounds)
      } rounds of ${NAMES} names by two processes at once, one every ${ROUND_MS} ms, on one SQLite file, while a third ` +
      `writes ${number(writer!.objects)} objects of 50 kB`,
      `Calls of the store that failed and were repeated: ${
        JSON.stringify([one, two, writer].map((of) => of!.failures))
      }`,
    ],
    goals: [one!, two!].flatMap(({ heard, repeated }, index): Goal[] => [
      atMost(
        `names of ${number(published)} that process ${index + 1} does not hear`,
        0,
        published - heard,
      ),
      atMost(`names that process ${index + 1} hears twice`, 0, repeated),
    ]),
  };
}

/** How soon a push shows among very many refs in use, without a token. */
async function measureRefs(cleanup: AsyncDisposableStack) {
  const git = cleanup.use(await makeGitRepository({ "posts/a.md": "# A\n" }));
  const branches = Array.from({ length: refs }, (_, n) => `topic/b${n}`);
  for (const branch of branches) await git.branch(branch);
  const repositories = { "octo/site": { dir: git.dir } };
  const double = cleanup.use(
    await startDouble({ repositories, token: null }),
  );
  const service = cleanup.use(
    await startService({
      env: {
        GITHUB_API_URL: double.apiUrl,
        GITHUB_WEBHOOK_SECRET: SECRET,
        ALLOWED_REPOS: "octo/*",
        LOCAL_REPOS_DIR: "none",
        LOG_LEVEL: "warn",
        MISSES_PER_MINUTE: "0",
      },
    }),
  );
  const read = (branch: string) => get(service.origin, listPath({ branch }));
  const startedMs = performance.now();
  const queue = branches.values();
  await Promise.all(
    Array.from({ length: READ_AT_ONCE }, async () => {
      for (const branch of queue) await read(branch);
    }),
  );
  const readS = (performance.now() - startedMs) / 1000;
  const shownMs: number[] = [];
  for (let n = 0; n < PUSHES; n++) {
    // In the order of use, the pushed branches are spread from first to last.
    const branch = branches[Math.floor(n * (refs - 1) / (PUSHES - 1))]!;
    const commit = await git.commit({ "posts/a.md": `# ${n}\n` }, { branch });
    const pushedMs = performance.now();
    const body = JSON.stringify({
      n,
      ref: `refs/heads/${branch}`,
      repository: { full_name: "octo/site" },
    });
    const response = await fetch(`${service.origin}/api/webhooks/github`, {
      method: "POST",
      body,
      headers: {
        "content-type": "application/json",
        "x-github-event": "push",
        "x-hub-signature-256": signatureOf(body, SECRET),
      },
    });
    await response.body?.cancel();
    assertEquals(response.status, 202);
    while (!textOf(await read(branch)).includes(commit)) await pause(5);
    shownMs.push(performance.now() - pushedMs);
    await pause(1_500);
  }
  return {
    conditions: [
      `${number(refs)} branches of one repository, read within ${
        number(readS)
      } s, ${PUSHES} pushes to branches spread over them, without a token; median ${
        number(median(shownMs))
      } ms, at most ${number(Math.max(...shownMs))} ms`,
    ],
    goals: [
      atMost(
        `from a push to one of ${
          number(refs)
        } refs in use until it shows, p99, ms`,
        2_000,
        p99(shownMs),
      ),
    ],
  };
}

await runBench(
  { title: "Pushes among many", section: "bench:feed" },
  async (cleanup) => {
    const parts = [
      ...rounds > 0 ? [await measureFeed(cleanup)] : [],
      ...refs > 0 ? [await measureRefs(cleanup)] : [],
    ];
    return {
      conditions: parts.flatMap(({ conditions }) => conditions),
      goals: parts.flatMap(({ goals }) => goals),
      parts: [],
    };
  },
);
