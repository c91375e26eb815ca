// deploy/nginx.conf and deploy/varnish.vcl, each run by its own program in
// front of the service.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { listPath } from "../service.ts";
import { isThere, NGINX, VARNISH } from "./caches.ts";
import { pause, startEdge } from "./edge.ts";

const GZIP = { headers: { "accept-encoding": "gzip, br" } };
const PLAIN = { headers: { "accept-encoding": "identity" } };
/** Answers expire after a second, as if a minute had passed. */
const SHORT = { SHARED_MAX_AGE: "1" };

for (const kind of [NGINX, VARNISH]) {
  const ignore = !isThere(kind);
  const { name } = kind;

  Deno.test({
    name: `${name} answers hits by itself`,
    ignore,
    async fn() {
      await using edge = await startEdge(kind);
      const texts = new Set<string>();
      for (let n = 0; n < 50; n++) {
        const response = await edge.get(listPath(), n % 2 ? GZIP : PLAIN);
        texts.add(await response.text());
        const { headers } = response;
        const isHit = /; hit/.test(
          headers.get("cache-status")!.split("collections;").join(""),
        );
        if (n > 1) assert(isHit, headers.get("cache-status")!);
      }
      assertEquals(texts.size, 1);
      // One for each coding at most.
      assert(edge.requests.length <= 2, `${edge.requests.length}`);
    },
  });

  Deno.test({
    name: `${name} keeps CORS, Vary and ETag, and answers HEAD and 304`,
    ignore,
    async fn() {
      await using edge = await startEdge(kind);
      await (await edge.get()).body?.cancel();
      const hit = await edge.get();
      await hit.body?.cancel();
      const { headers } = hit;
      assertEquals(headers.get("access-control-allow-origin"), "*");
      assertMatch(headers.get("access-control-expose-headers")!, /ETag/);
      assertEquals(headers.get("vary"), "Accept-Encoding");
      const tag = headers.get("etag")!;
      const ifNoneMatch = { "if-none-match": tag };
      const known = await edge.get(listPath(), { headers: ifNoneMatch });
      assertEquals([known.status, await known.text()], [304, ""]);
      assertEquals(known.headers.get("access-control-allow-origin"), "*");
      const head = await edge.get(listPath(), { method: "HEAD" });
      assertEquals([head.status, await head.text()], [200, ""]);
      assertEquals(head.headers.get("etag"), tag);
      for (const name of ["surrogate-key", "cache-tag", "x-accel-expires"]) {
        assertEquals(headers.get(name), null);
      }
    },
  });

  Deno.test({
    name: `${name} stores no errors`,
    ignore,
    async fn() {
      await using edge = await startEdge(kind);
      const bad = listPath({ page: "x" });
      for (let n = 1; n <= 3; n++) {
        const response = await edge.get(bad);
        await response.body?.cancel();
        assertEquals(response.status, 400);
        assertEquals(response.headers.get("cache-control"), "no-store");
        assertEquals(edge.requests.length, n);
      }
      const other = listPath({ collection: "other" });
      await (await edge.get(other)).body?.cancel();
      await edge.repository.commit({ "other/a.md": "" });
      await edge.recheck();
      await pause(2_100);
      // A busy machine fails the probe of Varnish for a while.
      let status = 0;
      for (let tries = 0; tries < 10 && status !== 200; tries++) {
        await pause(tries * 500);
        const response = await edge.get(other);
        await response.body?.cancel();
        status = response.status;
      }
      assertEquals(status, 200);
    },
  });

  Deno.test({
    name: `${name} gives marked older answers while the service is down`,
    ignore,
    async fn() {
      await using edge = await startEdge(kind, SHORT);
      const text = await (await edge.get()).text();
      await edge.down();
      await pause(2_500);
      for (let n = 0; n < 3; n++) {
        const response = await edge.get();
        assertEquals(await response.text(), text);
        assertMatch(
          response.headers.get("cache-status")!,
          /hit; detail=stale-if-error/,
        );
        await pause(1_500);
      }
      const unknown = await edge.get(listPath({ limit: 7 }));
      await unknown.body?.cancel();
      assert(unknown.status >= 500);
      await edge.up();
      await pause(5_000);
      const { body, headers } = await edge.get();
      await body?.cancel();
      assert(!headers.get("cache-status")!.includes("stale-if-error"));
    },
  });

  Deno.test({
    name: `${name} does not show a deleted repository again`,
    ignore,
    async fn() {
      await using edge = await startEdge(kind, SHORT);
      await (await edge.get()).body?.cancel();
      edge.gh.remove("octo/site");
      await edge.recheck();
      await pause(2_500);
      const gone = await edge.get();
      await gone.body?.cancel();
      assertEquals(gone.status, 404);
      await edge.down();
      await pause(2_500);
      const after = await edge.get();
      await after.body?.cancel();
      assert(after.status >= 400, `${after.status}`);
    },
  });

  Deno.test({
    name: `a push shows behind ${name} within 61 s without purge`,
    ignore,
    async fn() {
      await using edge = await startEdge(kind);
      await (await edge.get()).body?.cancel();
      await pause(1_000);
      const commit = await edge.repository.commit({ "posts/b.md": "# B\n" });
      const ms = await edge.untilShown(commit, 61_000);
      console.log(`push to visible behind ${name}, without purge: ${ms} ms`);
    },
  });
}

Deno.test({
  name: "a push shows behind Varnish within 3 s with purge",
  ignore: !isThere(VARNISH),
  async fn() {
    await using edge = await startEdge(VARNISH, {
      CACHE_PURGE: "varnish:{cache}",
    });
    // The purges of the start are over.
    await pause(9_000);
    await (await edge.get()).body?.cancel();
    await pause(1_000);
    const before = edge.requests.length;
    await (await edge.get()).body?.cancel();
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
});

Deno.test({
  name: "Varnish keeps what a start purges for when nobody answers",
  ignore: !isThere(VARNISH),
  async fn() {
    await using edge = await startEdge(VARNISH, {
      CACHE_PURGE: "varnish:{cache}",
    });
    await pause(9_000);
    const text = await (await edge.get()).text();
    const purge = async (tag: string) => {
      const headers = { "xkey-purge": tag };
      const response = await edge.get("/", { method: "PURGE", headers });
      await response.body?.cancel();
      assertEquals(response.status, 200);
    };
    const before = edge.requests.length;
    await purge("repo-collections");
    await (await edge.get()).body?.cancel();
    assertEquals(edge.requests.length, before + 1, "not fresh any more");
    await purge("repo-collections");
    await edge.down();
    const kept = await edge.get();
    assertEquals(await kept.text(), text);
    assertMatch(kept.headers.get("cache-status")!, /stale-if-error/);
    await purge("octo/site");
    const gone = await edge.get();
    await gone.body?.cancel();
    assertEquals(gone.status, 503);
  },
});

Deno.test({
  name: "Varnish marks what it holds over 60 s without the service",
  ignore: !isThere(VARNISH),
  async fn() {
    await using edge = await startEdge(VARNISH, {
      CACHE_PURGE: "varnish:{cache}",
    });
    await pause(9_000);
    const text = await (await edge.get()).text();
    await edge.down();
    await pause(7_000);
    const isMarked = async () => {
      const response = await edge.get();
      assertEquals(await response.text(), text);
      return response.headers.get("cache-status")!.includes("stale-if-error");
    };
    assert(!await isMarked(), "a fresh answer");
    await pause(61_000);
    assert(await isMarked());
    await edge.up();
    await pause(5_000);
    assert(!await isMarked(), "the service is back");
  },
});
