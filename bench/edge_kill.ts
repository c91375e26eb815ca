// The kills of `bench:edge --kill`: two services on one remote store, Varnish
// in front of the first, deliveries of the webhook to the second, or to the
// first while the second is down. Each of the four is killed by SIGKILL at
// random, for itself, and started again.

import { VARNISH } from "../tests/deploy/caches.ts";
import { TOKEN } from "../tests/kv_connect/kv_connect_server.ts";
import { configFlag } from "../tests/run_task.ts";
import { startCache, untilListening } from "./edge_caches.ts";
import {
  deliver,
  EdgeReaders,
  type EdgeRepository,
  makeEdgeRepository,
  SECRET,
} from "./edge_site.ts";
import {
  DATA_FOLDER,
  type Env,
  freePort,
  pause,
  startProcess,
  startService,
  startSource,
} from "./processes.ts";
import { atMost, number, p99, table } from "./report.ts";

const [REPOSITORIES, ADDRESSES_EACH] = [10, 10];
const PUSH_EVERY_MS = 5_000;
/** Freshness, and a second of rounding and of the way. */
const MOST_BEHIND_MS = 61_000;
const UP_MS = [8_000, 40_000] as const;

/** A process that is killed, and for how long it is down: seldom for long. */
interface Victim {
  readonly name: string;
  readonly start: () => Promise<Deno.ChildProcess>;
  readonly longestMs: number;
  kills: number;
}

/** Numbers from 0 to 1 that depend on the seed alone (xorshift). */
function randomOf(seed: number) {
  let state = seed * 2_654_435_761 >>> 0 || 1;
  return () => {
    for (const shift of [13, -17, 5]) {
      state ^= shift > 0 ? state << shift : state >>> -shift;
    }
    return (state >>> 0) / 2 ** 32;
  };
}

/** Runs everything for minutes; gives what a report shows. */
export async function measureKills(
  cleanup: AsyncDisposableStack,
  { minutes, seed, perSecond, only }: Readonly<
    & Record<"minutes" | "seed" | "perSecond", number>
    & { only: string }
  >,
) {
  const repositories: EdgeRepository[] = [];
  for (let n = 0; n < REPOSITORIES; n++) {
    repositories.push(
      await makeEdgeRepository(cleanup, `edge${n}`, ADDRESSES_EACH),
    );
  }
  const { settings } = await startSource(
    cleanup,
    Object.fromEntries(
      repositories.map(({ owner, git: { dir } }) => [`${owner}/site`, { dir }]),
    ),
  );
  const port = {
    cache: freePort(),
    service: freePort(),
    other: freePort(),
    store: freePort(),
  };
  const originOf = (of: keyof typeof port) => `http://127.0.0.1:${port[of]}`;
  const origin = originOf("cache");
  const denokv = Deno.env.get("DENOKV");
  const startStore = async () => {
    const file = `${DATA_FOLDER}/kill.sqlite`;
    const command = denokv
      ? [
        ...[denokv, "--sqlite-path", file, "serve"],
        ...["--addr", `127.0.0.1:${port.store}`],
      ]
      : [
        ...[Deno.execPath(), "run", await configFlag(), "-A"],
        ...["bench/store_process.ts", `${port.store}`, file],
      ];
    const env = { DENO_KV_ACCESS_TOKEN: TOKEN };
    // denokv reports every start.
    const quiet = ["sh", "-c", 'exec "$@" 2>/dev/null', "sh", ...command];
    const store = startProcess(quiet, { env });
    await untilListening(store, originOf("store"));
    return store;
  };
  const env: Env = {
    ...settings,
    KV_PATH: originOf("store"),
    DENO_KV_ACCESS_TOKEN: TOKEN,
    CACHE_PURGE: `varnish:${origin}`,
    GITHUB_WEBHOOK_SECRET: SECRET,
    TRUST_PROXY: "true",
    PUBLIC_URL: origin,
  };
  const restartsMs: number[] = [];
  const startOurs = async (of: "service" | "other") => {
    const service = await startService({ env, port: port[of] });
    restartsMs.push(Date.now());
    return service;
  };
  const victims: Victim[] = [
    { name: "store", start: startStore, longestMs: 90_000, kills: 0 },
    {
      name: "the service behind Varnish",
      start: () => startOurs("service"),
      longestMs: 90_000,
      kills: 0,
    },
    {
      // What it takes and loses is purged when it is back.
      name: "the other service",
      start: () => startOurs("other"),
      longestMs: 40_000,
      kills: 0,
    },
    {
      name: "Varnish",
      start: () => startCache(VARNISH, port),
      longestMs: 90_000,
      kills: 0,
    },
  ];
  const running: Deno.ChildProcess[] = [];
  for (const { start } of victims) running.push(cleanup.use(await start()));
  await pause(7_000);

  const startedAtMs = Date.now();
  const endMs = startedAtMs + minutes * 60_000;
  const killing = async (victim: Victim, index: number) => {
    const { start, longestMs } = victim;
    const random = randomOf(seed * victims.length + index);
    for (;;) {
      await pause(UP_MS[0] + random() * (UP_MS[1] - UP_MS[0]));
      if (Date.now() + longestMs / 4 > endMs) return;
      const process = running[index]!;
      process.kill("SIGKILL");
      await process.status;
      victim.kills++;
      const downMs = random() < 0.8 ? random() * 10_000 : random() * longestMs;
      console.error(
        `${
          number((Date.now() - startedAtMs) / 1000)
        } s: ${victim.name} is down for ${number(downMs / 1000)} s`,
      );
      await pause(Math.min(downMs, endMs - Date.now()));
      running[index] = cleanup.use(await start());
    }
  };
  let lost = 0;
  let pushes = 0;
  const pushing = async () => {
    for (; Date.now() + 2 * PUSH_EVERY_MS < endMs; pushes++) {
      await pause(PUSH_EVERY_MS);
      const repository = repositories[pushes % REPOSITORIES]!;
      await repository.push();
      await deliver(originOf("other"), repository)
        .catch(() => deliver(originOf("service"), repository))
        .catch(() => lost++);
    }
  };
  using readers = new EdgeReaders(origin, repositories, {
    perSecond,
    mostBehindMs: MOST_BEHIND_MS,
    restartsMs,
  });
  await Promise.all([
    readers.readWhile(() => Date.now() < endMs + 5_000),
    pushing(),
    ...victims.map((victim, index) =>
      victim.name.startsWith(only) ? killing(victim, index) : null
    ),
  ]);
  const { answers, wrong } = readers;
  return {
    conditions: [
      `${minutes} minutes, ${
        number(readers.sent)
      } requests, ${perSecond} a second, to ${
        REPOSITORIES * ADDRESSES_EACH
      } addresses of ${REPOSITORIES} repositories; ${pushes} pushes, of which no service heard ${lost}`,
      `Killed by SIGKILL (seed ${seed}): ${
        victims.map(({ name, kills }) => `${name} ${kills} times`).join(", ")
      }; each is up for ${UP_MS[0] / 1000} to ${
        UP_MS[1] / 1000
      } s, then down for up to 10 s, one time in five for up to ${
        victims.map(({ name, longestMs }) => `${longestMs / 1000} s (${name})`)
          .join(", ")
      }`,
      `The store is ${
        denokv ? "denokv on a file" : "tests/kv_connect on a file"
      }`,
      `A push shows after ${number(p99(readers.shownMs) / 1000)} s at p99, ` +
      `a marked answer showed what was replaced for ${
        number(readers.greatestStaleMs / 1000)
      } s at most`,
    ],
    goals: [
      atMost("wrong answers", 0, wrong.length),
      atMost(
        "an answer that is not marked shows what was replaced for, s",
        MOST_BEHIND_MS / 1000,
        readers.greatestBehindMs / 1000,
      ),
      atMost(
        "from a restart until the last answer that shows what was replaced before it, s",
        60,
        readers.greatestOwedMs / 1000,
      ),
    ],
    parts: [
      table(
        ["answer", "count"],
        [...answers].sort().map(([name, n]) => [name, number(n)]),
      ),
      ...wrong.slice(0, 20).map((line) => `- ${line}`),
    ],
  };
}
