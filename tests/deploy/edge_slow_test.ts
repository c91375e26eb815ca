// deploy/nginx.conf and deploy/varnish.vcl, each run by its own program in
// front of the service.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { listPath } from "../service.ts";
import { type CacheKind, isThere, NGINX, VARNISH } from "./caches.ts";
import { pause, startEdge } from "./edge.ts";

const GZIP = { headers: { "accept-encoding": "gzip, br" } };
const PLAIN = { headers: { "accept-encoding": "identity" } };
/** Answers expire after a second, as if a minute had passed. */
const SHORT = { SHARED_MAX_AGE: "1" };

/** Registers a test of a cache, which is skipped where its program is missing. */
function edgeTest(
  name: string,
  { kind, env }: { kind: CacheKind; env?: Readonly<Record<string, string>> },
  fn: (edge: Awaited<ReturnType<typeof startEdge>>) => Promise<void>,
): void {
  Deno.test({
    name,
    ignore: !isThere(kind),
    async fn() {
      await using edge = await startEdge(kind, env);
      await fn(edge);
    },
  });
}

for (const kind of [NGINX, VARNISH]) {
  const { name } = kind;

  edgeTest(`${name} answers hits by itself`, { kind }, async (edge) => {
    const texts = new Set<string>();
    for (let n = 0; n < 50; n++) {
      const answer = await edge.get(listPath(), n % 2 ? GZIP : PLAIN);
      texts.add(answer.text);
      const cacheStatus = answer.cacheStatus.replace("collections;", "");
      if (n > 1) assertMatch(cacheStatus, /; hit/);
    }
    assertEquals(texts.size, 1);
    // One for each coding at most.
    assert(edge.requests.length <= 2, `${edge.requests.length}`);
  });

  edgeTest(
    `${name} keeps CORS, Vary and ETag, and answers HEAD and 304`,
    { kind },
    async (edge) => {
      await edge.get();
      const { headers } = await edge.get();
      assertEquals(headers.get("access-control-allow-origin"), "*");
      assertMatch(headers.get("access-control-expose-headers")!, /ETag/);
      assertEquals(headers.get("vary"), "Accept-Encoding");
      for (const name of ["surrogate-key", "cache-tag", "x-accel-expires"]) {
        assertEquals(headers.get(name), null);
      }
      const tag = headers.get("etag")!;
      const ifNoneMatch = { "if-none-match": tag };
      const known = await edge.get(listPath(), { headers: ifNoneMatch });
      assertEquals([known.status, known.text], [304, ""]);
      assertEquals(known.headers.get("access-control-allow-origin"), "*");
      const head = await edge.get(listPath(), { method: "HEAD" });
      assertEquals([head.status, head.text], [200, ""]);
      assertEquals(head.headers.get("etag"), tag);
    },
  );

  edgeTest(`${name} stores no errors`, { kind }, async (edge) => {
    const bad = listPath({ page: "x" });
    for (let n = 1; n <= 3; n++) {
      const { status, headers } = await edge.get(bad);
      assertEquals([status, headers.get("cache-control")], [400, "no-store"]);
      assertEquals(edge.requests.length, n);
    }
    const other = listPath({ collection: "other" });
    await edge.get(other);
    await edge.repository.commit({ "other/a.md": "" });
    await edge.recheck();
    await pause(2_100);
    // A busy machine fails the probe of Varnish for a while.
    let status = 0;
    for (let tries = 0; tries < 10 && status !== 200; tries++) {
      await pause(tries * 500);
      ({ status } = await edge.get(other));
    }
    assertEquals(status, 200);
  });

  edgeTest(
    `${name} gives marked older answers while the service is down`,
    { kind, env: SHORT },
    async (edge) => {
      const { text } = await edge.get();
      await edge.down();
      await pause(2_500);
      for (let n = 0; n < 3; n++) {
        const answer = await edge.get();
        assertEquals(answer.text, text);
        assertMatch(answer.cacheStatus, /hit; detail=stale-if-error/);
        await pause(1_500);
      }
      const unknown = await edge.get(listPath({ limit: 7 }));
      assert(unknown.status >= 500);
      await edge.up();
      await pause(5_000);
      assert(!(await edge.get()).cacheStatus.includes("stale-if-error"));
    },
  );

  edgeTest(
    `${name} does not show a deleted repository again`,
    { kind, env: SHORT },
    async (edge) => {
      await edge.get();
      edge.gh.remove("octo/site");
      await edge.recheck();
      await pause(2_500);
      assertEquals((await edge.get()).status, 404);
      await edge.down();
      await pause(2_500);
      const { status } = await edge.get();
      assert(status >= 400, `${status}`);
    },
  );

  edgeTest(
    `a push shows behind ${name} within 61 s without purge`,
    { kind },
    async (edge) => {
      await edge.get();
      await pause(1_000);
      const commit = await edge.repository.commit({ "posts/b.md": "# B\n" });
      const ms = await edge.untilShown(commit, 61_000);
      console.log(`push to visible behind ${name}, without purge: ${ms} ms`);
    },
  );
}

/** Varnish, when the purges of the start are over. */
function purgedTest(
  name: string,
  fn: Parameters<typeof edgeTest>[2],
): void {
  const env = { CACHE_PURGE: "varnish:{cache}" };
  edgeTest(name, { kind: VARNISH, env }, async (edge) => {
    await pause(9_000);
    await fn(edge);
  });
}

purgedTest(
  "a push shows behind Varnish within 3 s with purge",
  async (edge) => {
    await edge.get();
    await pause(1_000);
    const before = edge.requests.length;
    await edge.get();
    assertEquals(edge.requests.length, before, "held");
    const timesMs: number[] = [];
    for (let n = 0; n < 20; n++) {
      await pause(1_500);
      const commit = await edge.repository.commit({ "posts/b.md": `${n}` });
      void edge.recheck();
      timesMs.push(await edge.untilShown(commit, 20_000));
    }
    timesMs.sort((a, b) => a - b);
    assert(timesMs[18]! <= 3_000, `${timesMs}`);
    console.log(
      `push to visible behind Varnish, with webhook and purge: ${
        timesMs[10]
      } ms at the median of 20, ${timesMs.at(-1)} ms at most`,
    );
  },
);

purgedTest(
  "Varnish keeps what a start purges for when nobody answers",
  async (edge) => {
    const { text } = await edge.get();
    const purge = async (tag: string) => {
      const headers = { "xkey-purge": tag };
      const { status } = await edge.get("/", { method: "PURGE", headers });
      assertEquals(status, 200);
    };
    const before = edge.requests.length;
    await purge("repo-collections");
    await edge.get();
    assertEquals(edge.requests.length, before + 1, "not fresh any more");
    await purge("repo-collections");
    await edge.down();
    const kept = await edge.get();
    assertEquals(kept.text, text);
    assertMatch(kept.cacheStatus, /stale-if-error/);
    await purge("octo/site");
    assertEquals((await edge.get()).status, 503);
  },
);

purgedTest(
  "Varnish marks what it holds over 60 s without the service",
  async (edge) => {
    const { text } = await edge.get();
    await edge.down();
    await pause(7_000);
    const isMarked = async () => {
      const answer = await edge.get();
      assertEquals(answer.text, text);
      return answer.cacheStatus.includes("stale-if-error");
    };
    assert(!await isMarked(), "a fresh answer");
    await pause(61_000);
    assert(await isMarked());
    await edge.up();
    await pause(5_000);
    assert(!await isMarked(), "the service is back");
  },
);
