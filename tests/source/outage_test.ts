// GitHub fails in every way of the double: known data is served and marked,
// unknown data has its error code, and GitHub gets few requests meanwhile.

import { assert, assertEquals } from "@std/assert";
import { type Fault, timeOutHangs } from "../github/github_faults.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const STATUS = {
  "source-failed": 502,
  "source-timeout": 504,
  "source-rate-limited": 503,
};

const MAINTENANCE = {
  kind: "status",
  headers: { location: "/maintenance" },
} as const;

/**
 * What fails, and what is said where nothing is known; null where the double
 * stops listening.
 */
const OUTAGES: readonly [
  name: string,
  fault: Fault | null,
  code: keyof typeof STATUS,
][] = [
  ["refusing", null, "source-failed"],
  ["resetting", { kind: "reset" }, "source-failed"],
  ["500", { kind: "status", status: 500 }, "source-failed"],
  ["302 for now", { ...MAINTENANCE, status: 302 }, "source-failed"],
  ["307 for now", { ...MAINTENANCE, status: 307 }, "source-failed"],
  ["garbage JSON", { kind: "garbage" }, "source-failed"],
  ["HTML", { kind: "html" }, "source-failed"],
  ["hanging", { kind: "hang" }, "source-timeout"],
  ["stalling", { kind: "stall" }, "source-timeout"],
  ["403 quota", { kind: "quota403" }, "source-rate-limited"],
  ["429 quota", { kind: "quota429" }, "source-rate-limited"],
  ["403 secondary", { kind: "secondary403" }, "source-rate-limited"],
  [
    "403 by its text",
    { kind: "secondary403", retryAfterSeconds: null },
    "source-rate-limited",
  ],
  ["429 secondary", { kind: "secondary429" }, "source-rate-limited"],
];

const collections = Array.from({ length: 10 }, (_, index) => `c${index}`);
const files = collections.flatMap((name) =>
  ["a", "b"].map((file) => [`${name}/${file}.md`, `${name} ${file}`] as const)
);
/** Half of the lists have their contents. */
const paths = collections.map((collection, index) =>
  listPath({ collection, includeContent: index % 2 === 0 })
);

for (const token of [null, "t1"]) {
  for (const [name, fault, code] of OUTAGES) {
    const who = token === null ? "without a token" : "with a token";
    Deno.test(`${name}, ${who}: known lists are served for 24 h`, async () => {
      const env = {
        LOG_LEVEL: "silent",
        ...token === null ? {} : { GITHUB_TOKEN: token },
      };
      await using site = await startSite(files, { env });
      const { gh, repository, service } = site;
      const { clock } = service;
      const texts = () =>
        Promise.all(
          paths.map(async (path) => (await service.get(path)).text()),
        );
      const known = await texts();
      const checkedAtMs = clock.now();
      await repository.commit({ "c0/a.md": "changed\n" });
      timeOutHangs(clock, gh);
      if (fault === null) await gh.down();
      else gh.fault = fault;

      for (const ageMs of [60_000, HOUR_MS, DAY_MS - 1]) {
        clock.advance(checkedAtMs + ageMs - clock.now());
        gh.resetCounts();
        assertEquals(await texts(), known);
        const age = Math.floor(ageMs / 1000);
        const { headers } = await service.get(paths[0]!);
        assertEquals(headers.get("age"), `${age}`);
        const stale = `collections; hit; ttl=${
          60 - age
        }; detail=stale-if-error`;
        assertEquals(headers.get("cache-status"), stale);
        // A check that is repeated once is 2 requests, and as many about
        // visibility.
        const most = token === null ? 2 : 4;
        assert(
          gh.requests.length <= most,
          `${gh.requests.length} requests upstream`,
        );
        if (ageMs !== 60_000) continue;

        for (let second = 1; second <= 5; second++) {
          clock.advance(1_000);
          await service.services.refreshDue();
          assertEquals(await texts(), known);
        }
        assert(gh.requests.length > 0 || fault === null);
        assert(
          gh.requests.length < 20,
          `${gh.requests.length} requests upstream`,
        );
        for (const unknown of [{ repo: "unknown" }, { branch: "unknown" }]) {
          const response = await service.get(listPath(unknown));
          assertEquals([response.status, (await response.json()).code], [
            STATUS[code],
            code,
          ]);
          assertEquals(
            response.headers.has("retry-after"),
            code === "source-rate-limited",
          );
          gh.resetCounts();
          assertEquals((await service.problem(listPath(unknown))).code, code);
          assertEquals(gh.counts(), {}, "a repeated failure costs nothing");
        }
      }

      clock.advance(1);
      assertEquals((await service.get(paths[0]!)).status, STATUS[code]);
      gh.fault = null;
      gh.up();
      clock.advance(HOUR_MS + 1000);
      const after = await service.get(paths[0]!);
      assertEquals(
        after.headers.get("cache-status"),
        "collections; fwd=stale; stored",
      );
      assert((await after.text()).includes("changed"));
    });
  }
}
