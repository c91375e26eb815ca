// GitHub fails in every way of the double: known data is served and marked,
// unknown data has its error code, and GitHub gets few requests meanwhile.

import { assert, assertEquals } from "@std/assert";
import { type Fault, timeOutHangs } from "../github/github_faults.ts";
import { freshnessOf } from "../http/freshness_of.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const STATUS = {
  "source-failed": 502,
  "source-timeout": 504,
  "source-rate-limited": 503,
};

const redirect = (status: number): Fault => ({
  kind: "status",
  status,
  headers: { location: "/maintenance" },
});

/** What fails, and what is said where nothing is known. */
const OUTAGES: Record<
  string,
  { fault: Fault | "down"; code: keyof typeof STATUS }
> = {
  "refusing": { fault: "down", code: "source-failed" },
  "resetting": { fault: { kind: "reset" }, code: "source-failed" },
  "302 for now": { fault: redirect(302), code: "source-failed" },
  "307 for now": { fault: redirect(307), code: "source-failed" },
  "garbage JSON": { fault: { kind: "garbage" }, code: "source-failed" },
  "hanging": { fault: { kind: "hang" }, code: "source-timeout" },
  "stalling": { fault: { kind: "stall" }, code: "source-timeout" },
  "429 quota": { fault: { kind: "quota429" }, code: "source-rate-limited" },
  "429 secondary": {
    fault: { kind: "secondary429" },
    code: "source-rate-limited",
  },
};

const FILES = { "posts/a.md": "A\n", "pages/b.md": "B\n" };
const PAGES = listPath({ collection: "pages", includeContent: true });

for (const token of ["", "t1"]) {
  for (const [name, { fault, code }] of Object.entries(OUTAGES)) {
    Deno.test(`${name}, token "${token}": known lists are served for 24 h`, async () => {
      const env = { LOG_LEVEL: "silent", GITHUB_TOKEN: token };
      await using site = await startSite(FILES, { env });
      const { gh, repository, service } = site;
      const { clock } = service;
      await freshnessOf(site);
      await freshnessOf(site, PAGES);
      const checkedAtMs = clock.now();
      await repository.commit({ "posts/c.md": "C\n" });
      timeOutHangs(clock, gh);
      if (fault === "down") await gh.down();
      else gh.fault = fault;

      for (const ageMs of [60_000, HOUR_MS, DAY_MS - 1]) {
        clock.advance(checkedAtMs + ageMs - clock.now());
        gh.resetCounts();
        const age = Math.floor(ageMs / 1000);
        const how = `hit; ttl=${60 - age}; detail=stale-if-error`;
        assertEquals(await freshnessOf(site), ["a", how, `${age}`]);
        assertEquals(await freshnessOf(site, PAGES), ["b", how, `${age}`]);
        // A check that is repeated once is 2 requests, and as many about
        // visibility.
        const { length } = gh.requests;
        assert(length <= (token === "" ? 2 : 4), `${length} requests`);
      }
      for (const unknown of [{ repo: "unknown" }, { branch: "unknown" }]) {
        const path = listPath(unknown);
        assertEquals(await freshnessOf(site, path), [STATUS[code], code]);
        gh.resetCounts();
        assertEquals(await freshnessOf(site, path), [STATUS[code], code]);
        assertEquals(gh.counts(), {}, "a repeated failure costs nothing");
      }

      clock.advance(1);
      assertEquals(await freshnessOf(site), [STATUS[code], code]);
      gh.fault = null;
      gh.up();
      clock.advance(HOUR_MS);
      const after = ["a c", "fwd=stale; stored", "0"];
      assertEquals(await freshnessOf(site), after);
    });
  }
}
