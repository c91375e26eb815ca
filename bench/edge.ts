// `deno task bench:edge`: 1,000 requests a second over 100 addresses behind
// Varnish that is purged, Varnish that is not, and nginx, each with the file in
// deploy/, and a push every 10 s: which share never reaches the service, how
// soon a push shows at the cache, and whether an answer is older than it says.
// `--seconds` sets the time of each, `--only` names one of them,
// `--repositories` says over how many the addresses spread. With `--kill
// <minutes>` instead, two services on one store are killed at random, and so
// are Varnish and the store (`--only`: one of them, `--seed`: the same again).
// Needs Debian's nginx, varnish and varnish-modules. The store is denokv where
// DENOKV names its program.

import { CACHES, measureCache } from "./edge_caches.ts";
import { measureKills } from "./edge_kill.ts";
import { flag, runBench, table } from "./report.ts";

const PER_SECOND = 1_000;
const ADDRESSES = 100;

const only = flag("only", "");
if (Deno.args.includes("--kill")) {
  const minutes = Number(flag("kill", "10"));
  const seed = Number(flag("seed", `${Date.now() % 1_000_000}`));
  await runBench(
    { title: "Killed behind a cache", section: "bench:edge, kills" },
    (cleanup) => measureKills(cleanup, { minutes, seed, only, perSecond: 500 }),
  );
} else {
  const seconds = Number(flag("seconds", "300"));
  const repositories = Number(flag("repositories", "10"));
  await runBench(
    { title: "Behind a cache", section: "bench:edge" },
    async (cleanup) => {
      const measured = [];
      for (const cache of CACHES) {
        if (!cache.name.startsWith(only)) continue;
        measured.push(
          await measureCache(cleanup, cache, {
            ...{ seconds, repositories },
            ...{ perSecond: PER_SECOND, addresses: ADDRESSES },
          }),
        );
      }
      return {
        conditions: [
          `${seconds} s each and until the last push shows, ${PER_SECOND} requests a second over ${ADDRESSES} addresses ` +
          `of ${repositories} repositories, a push every 10 s to one of them in turn`,
          "The caches run with the files in deploy/; readers, cache, service and source share the cores",
          "From a push to visible: for each push and each address of its repository, until an answer of the cache shows it",
        ],
        goals: measured.flatMap(({ goals }) => goals),
        parts: [
          table(
            [
              "cache",
              "requests",
              "reached the service",
              "median ms",
              "p99 ms",
              "shows after, median ms",
              "p99 ms",
              "at most, ms",
              "no answer or 5xx",
            ],
            measured.map(({ row }) => row),
          ),
          ...measured.flatMap(({ wrong }) => wrong),
        ],
      };
    },
  );
}
