// The caches of `bench:edge`: each in front of one service process and a double
// of GitHub, under a steady load.

import {
  cacheCommand,
  type CacheKind,
  NGINX,
  VARNISH,
} from "../tests/deploy/caches.ts";
import {
  deliver,
  EdgeReaders,
  type EdgeRepository,
  makeEdgeRepository,
  SECRET,
} from "./edge_site.ts";
import {
  type Env,
  freePort,
  get,
  pause,
  type RunningService,
  startProcess,
  startService,
  startSource,
  textOf,
} from "./processes.ts";
import { atLeast, atMost, type Goal, median, number, p99 } from "./report.ts";

/** A cache, and how soon it must show a push. */
interface EdgeCache {
  readonly name: string;
  readonly kind: CacheKind;
  /** Whether the service purges it and gets deliveries of the webhook. */
  readonly isPurged: boolean;
  readonly mostMs: number;
}

export const CACHES: readonly EdgeCache[] = [
  { name: "purged Varnish", kind: VARNISH, isPurged: true, mostMs: 3_000 },
  { name: "Varnish", kind: VARNISH, isPurged: false, mostMs: 61_000 },
  { name: "nginx", kind: NGINX, isPurged: false, mostMs: 61_000 },
];

const PUSH_EVERY_MS = 10_000;
/** A start purges everything at once and again 5 s later. */
const START_PURGES_MS = 7_000;

const START_WITHIN_MS = 20_000;

/**
 * Waits until a program answers, be it that something behind it is down.
 * @throws {Error} where it ends or takes too long.
 */
export async function untilListening(
  process: Deno.ChildProcess,
  origin: string,
): Promise<void> {
  let isOver = false;
  process.status.then(() => isOver = true);
  const untilMs = performance.now() + START_WITHIN_MS;
  while (!isOver && performance.now() < untilMs) {
    const response = await fetch(origin).catch(() => null);
    await response?.body?.cancel();
    if (response !== null) return;
    await pause(10);
  }
  throw new Error(`Cannot start "${origin}": it ended, or took too long`);
}

/** Starts a cache in front of a port and waits until it answers. */
export async function startCache(
  kind: CacheKind,
  ports: Readonly<{ cache: number; service: number }>,
): Promise<Deno.ChildProcess> {
  const folder = await Deno.makeTempDir({ prefix: "edge_" });
  const command = await cacheCommand(kind, ports, folder);
  // Varnish reports every step.
  const quiet = ["sh", "-c", 'exec "$@" 2>/dev/null', "sh", ...command];
  const cache = startProcess(quiet);
  cache.status.finally(() => Deno.remove(folder, { recursive: true }))
    .catch(() => {});
  await untilListening(cache, `http://127.0.0.1:${ports.cache}`);
  return cache;
}

/** Requests for data that a service has answered, by its metrics. */
async function answeredBy({ origin }: RunningService): Promise<number> {
  const text = textOf(await get(origin, "/metrics"));
  const counts = text.matchAll(
    /^collections_requests_total\{route="\/api\/list-[^}]*\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/**
 * Runs one cache under load; gives the goals, a row of the table, and what was
 * wrong.
 */
export async function measureCache(
  outer: AsyncDisposableStack,
  { name, kind, isPurged, mostMs }: EdgeCache,
  { seconds, perSecond, addresses, repositories: count }: Readonly<
    Record<"seconds" | "perSecond" | "addresses" | "repositories", number>
  >,
): Promise<{ goals: Goal[]; row: string[]; wrong: string[] }> {
  await using own = new AsyncDisposableStack();
  const repositories: EdgeRepository[] = [];
  for (let n = 0; n < count; n++) {
    const owner = `edge${n}`;
    repositories.push(
      await makeEdgeRepository(outer, owner, addresses / count),
    );
  }
  const { double, settings } = await startSource(
    outer,
    Object.fromEntries(
      repositories.map(({ owner, git: { dir } }) => [`${owner}/site`, { dir }]),
    ),
  );
  own.use(double);
  const ports = { cache: freePort(), service: freePort() };
  const origin = `http://127.0.0.1:${ports.cache}`;
  const env: Env = {
    ...settings,
    METRICS: "true",
    TRUST_PROXY: "true",
    PUBLIC_URL: origin,
    ...isPurged &&
      { CACHE_PURGE: `varnish:${origin}`, GITHUB_WEBHOOK_SECRET: SECRET },
  };
  const service = own.use(await startService({ env, port: ports.service }));
  own.use(await startCache(kind, ports));
  if (isPurged) await pause(START_PURGES_MS);

  using readers = new EdgeReaders(origin, repositories, {
    perSecond,
    mostBehindMs: mostMs,
  });
  const before = await answeredBy(service);
  const endMs = Date.now() + seconds * 1000;
  const isOver = () =>
    Date.now() > endMs && (readers.isShown || Date.now() > endMs + mostMs);
  const pushing = async () => {
    for (let n = 0; Date.now() + PUSH_EVERY_MS < endMs; n++) {
      await pause(PUSH_EVERY_MS);
      const repository = repositories[n % count]!;
      await repository.push();
      if (isPurged) await deliver(service.origin, repository);
    }
  };
  await Promise.all([readers.readWhile(() => !isOver()), pushing()]);
  const reached = await answeredBy(service) - before;
  const share = 100 * (1 - reached / readers.sent);
  const { answers, shownMs, timesMs, wrong } = readers;
  const failed = [...answers].filter(([answer]) => !answer.startsWith("200"))
    .reduce((sum, [, count]) => sum + count, 0);
  const goals = [
    atLeast(`${name}: requests that never reach the service, %`, 99, share),
    atMost(
      `${name}: from a push to visible at the cache, p99, ms`,
      mostMs,
      p99(shownMs),
    ),
    atMost(`${name}: pushes that some address never showed`, 0, unshown()),
    atMost(`${name}: wrong answers`, 0, wrong.length),
    atLeast(
      `${name}: requests that were sent in time, %`,
      99,
      100 * readers.sent / (readers.sent + readers.late),
    ),
    kind === NGINX
      // It sends no Age, and browsers revalidate.
      ? atMost(
        `${name}: a shown state was replaced for, s`,
        61,
        readers.greatestBehindMs / 1000,
      )
      // Two roundings to whole seconds.
      : atMost(
        `${name}: a shown state was replaced for longer than Age says, s`,
        2,
        readers.greatestPastAgeMs / 1000,
      ),
  ];
  function unshown() {
    return repositories.flatMap(({ pushes }) => pushes).filter(({ waiting }) =>
      waiting.size > 0
    ).length;
  }
  const row = [
    name,
    number(readers.sent),
    number(reached),
    number(median(timesMs)),
    number(p99(timesMs)),
    number(median(shownMs)),
    number(p99(shownMs)),
    number(Math.max(...shownMs)),
    number(failed),
  ];
  const answered = [...answers].sort().map((of) => of.join(": ")).join(", ");
  return {
    goals,
    row,
    wrong: [
      `${name}: ${answered}`,
      ...wrong.slice(0, 10).map((line) => `- ${line}`),
    ],
  };
}
