// Purges of caches in front: what is sent to each kind, when and by which
// process, and what follows a move, a tombstone and a lost cache.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { KvTier } from "../../lib/cache/kv_tier.ts";
import { CachePurge } from "../../lib/http/cache_purge.ts";
import { ALL_TAG, refTag } from "../../lib/http/cache_tags.ts";
import { listPath, type ServiceOptions } from "../service.ts";
import { startSite } from "../site.ts";
import { signatureOf } from "../github/served_repository.ts";
import { recordedLog } from "../source/open_github.ts";
import { TestClock } from "../test_clock.ts";
import { deliver, ENV } from "./deliveries.ts";

const MAIN = refTag({ owner: "octo", repo: "site", branch: "main" });

/** What a cache receives; `status` is what it answers. */
function recordPurges() {
  const sent: { request: Request; body: string }[] = [];
  const cache = { status: 200 };
  const send = async (request: Request) => {
    sent.push({ request, body: await request.text() });
    return new Response("", { status: cache.status });
  };
  return { cache, send, sent };
}

function openPurge(
  caches: readonly string[],
  tokens: readonly string[] = [],
  { clock = new TestClock(), tier = null, settle = async () => {} }: {
    clock?: TestClock;
    tier?: KvTier | null;
    /** Waits for what the store does. */
    settle?: () => Promise<void>;
  } = {},
) {
  const { log, lines } = recordedLog();
  const recorded = recordPurges();
  const { send } = recorded;
  const purge = new CachePurge({ caches, tokens, tier, clock, log, send });
  /** Lets time pass, and what is due then be sent. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 500) {
      clock.advance(Math.min(left, 500));
      await settle();
      await new Promise((resume) => setTimeout(resume, 0));
    }
    await new Promise((resume) => setTimeout(resume, 1));
  };
  return { ...recorded, clock, lines, pass, purge };
}

const tagsOf = ({ request }: { request: Request }) =>
  request.headers.get("xkey-purge")!.split(" ");

Deno.test("purge() sends the tags in the form of each cache", async () => {
  const { sent, pass, purge } = openPurge([
    "fastly:SVC",
    "varnish:http://v.test:6081",
    "cloudflare:ZONE",
    "url:https://u.test/purge",
  ], ["f-token", "c-token", "u-token"]);
  purge.purge("a/b");
  await pass(0);
  purge.close();
  const told = sent.map(({ request: { method, url, headers }, body }) => [
    method,
    url,
    headers.get("fastly-key") ?? headers.get("authorization") ??
      headers.get("x-purge-signature-256") ?? headers.get("xkey-purge"),
    body,
  ]);
  const json = '{"tags":["a/b"]}';
  const signature = signatureOf(json, "u-token");
  assertEquals(told.toSorted(), [
    [
      "POST",
      "https://api.cloudflare.com/client/v4/zones/ZONE/purge_cache",
      "Bearer c-token",
      json,
    ],
    [
      "POST",
      "https://api.fastly.com/service/SVC/purge",
      "f-token",
      '{"surrogate_keys":["a/b"]}',
    ],
    ["POST", "https://u.test/purge", signature, json],
    ["PURGE", "http://v.test:6081/", "a/b", ""],
  ]);
});

Deno.test("purge() sends a tag once a second at most, and 2.5 s later", async () => {
  const { sent, pass, purge } = openPurge(["varnish:http://v.test"]);
  for (const tag of ["a", "b", "a", "b", "c"]) purge.purge(tag);
  await pass(0);
  assertEquals(sent.map(tagsOf), [["a"]]);
  await pass(999);
  assertEquals(sent.length, 1);
  await pass(1);
  assertEquals(sent.slice(1).map(tagsOf), [["b", "a", "c"]]);
  await pass(1_000);
  assertEquals(sent.length, 2);
  await pass(2_000);
  assertEquals(sent.slice(2).flatMap(tagsOf).toSorted(), ["a", "b", "c"]);
  await pass(60_000);
  assertEquals(sent.slice(2).flatMap(tagsOf).length, 3);
  purge.close();
});

Deno.test("purge() repeats what a cache refused, with back-off", async () => {
  const { cache, lines, sent, pass, purge } = openPurge([
    "varnish:http://secret.test",
  ]);
  cache.status = 503;
  purge.purge("a");
  await pass(120_000);
  const refused = sent.length;
  assert(refused >= 7 && refused <= 12, `${refused}`);
  assertEquals(lines[0], {
    event: "cache not purged",
    cache: "varnish 1",
    reason: "status 503",
    seconds: 1,
  });
  cache.status = 200;
  purge.purge("b");
  await pass(31_000);
  const last = sent.slice(refused).flatMap(tagsOf);
  assertEquals(new Set(last), new Set(["a", "b"]));
  purge.close();
});

Deno.test("purge() of very many tags purges everything", async () => {
  const { cache, sent, pass, purge } = openPurge(["varnish:http://v.test"]);
  cache.status = 503;
  for (let n = 0; n < 5_000; n++) purge.purge(`t${n}`);
  cache.status = 200;
  await pass(60_000);
  assert(sent.some((one) => tagsOf(one).includes(ALL_TAG)));
  assert(sent.length < 100, `${sent.length}`);
  purge.close();
});

/** Two processes that share a store and purge the same cache. */
function openTwo(kv: Deno.Kv | null) {
  const clock = new TestClock();
  const open = () =>
    kv === null ? Promise.reject(new Error("down")) : Promise.resolve(kv);
  const tier = new KvTier(open, { clock, scope: "s", maxBytesPerHour: 0 });
  const attempts = new Set<Promise<unknown>>();
  const attempt = tier.attempt.bind(tier);
  tier.attempt = (call) => {
    const answer = attempt(call);
    attempts.add(answer);
    answer.finally(() => attempts.delete(answer));
    return answer;
  };
  const settle = async () => {
    while (attempts.size > 0) {
      await Promise.all(attempts);
      await new Promise((resume) => setTimeout(resume, 0));
    }
  };
  const cache = ["varnish:http://v.test"];
  const one = openPurge(cache, [], { clock, tier, settle });
  const two = openPurge(cache, [], { clock, tier, settle });
  const claim = async () => {
    const [entry] = await Array.fromAsync(kv!.list({ prefix: [] }));
    return String(entry?.value);
  };
  return {
    one,
    two,
    pass: one.pass,
    counts: () => [one.sent.length, two.sent.length],
    claim,
    async [Symbol.asyncDispose]() {
      one.purge.close();
      two.purge.close();
      await tier.close();
    },
  };
}

Deno.test("one of two processes purges a change", async () => {
  await using opened = openTwo(await Deno.openKv(":memory:"));
  const { one, two, pass, counts } = opened;
  await one.purge.purge("a", "c1");
  await pass(500);
  await two.purge.purge("a", "c1");
  await pass(2_500);
  assertEquals(counts(), [2, 0]);
  // What it answered until now may be in the cache.
  await two.purge.purge("a", "c1");
  await pass(1_000);
  assertEquals(counts(), [2, 1]);
  await pass(2_500);
  assertEquals(counts(), [2, 2]);
});

Deno.test("a process that finds a change last waits 3 s for a purge", async () => {
  await using opened = openTwo(await Deno.openKv(":memory:"));
  const { one, two, pass } = opened;
  await one.purge.purge("a", "c1");
  await pass(1_500);
  await two.purge.purge("a", "c1");
  const before = one.sent.length + two.sent.length;
  await pass(1_500);
  assert(one.sent.length + two.sent.length > before);
});

Deno.test("two processes purge a tag once a second at most", async () => {
  await using opened = openTwo(await Deno.openKv(":memory:"));
  const { one, two, pass, counts } = opened;
  await one.purge.purge("a", "c1");
  await pass(500);
  await two.purge.purge("a", "c2");
  await pass(500);
  assertEquals(counts(), [1, 0]);
  await pass(500);
  assertEquals(counts(), [1, 1]);
  await pass(8_000);
  assertEquals(counts(), [2, 2]);
});

Deno.test("a process takes over what an ended one purged once", async () => {
  await using opened = openTwo(await Deno.openKv(":memory:"));
  const { one, two, pass, counts, claim } = opened;
  await one.purge.purge("a", "c1");
  await pass(500);
  await two.purge.purge("a", "c1");
  one.purge.close();
  const claimed = await claim();
  await pass(9_500);
  assertEquals([counts(), await claim()], [[1, 0], claimed]);
  await pass(500);
  const taken = await claim();
  assert(taken.startsWith("c1 ") && taken !== claimed, taken);
  await pass(1_000);
  assertEquals(counts(), [1, 1]);
  await pass(2_500);
  assertEquals(counts(), [1, 2]);
});

Deno.test("refs that moved to one commit are all purged", async () => {
  await using opened = openTwo(await Deno.openKv(":memory:"));
  const { one, two, pass } = opened;
  const tags = ["a", "b", "c"];
  const find = async (purge: CachePurge) => {
    for (const tag of tags) await purge.purge(tag, "c1");
  };
  await find(one.purge);
  await pass(500);
  await find(two.purge);
  one.purge.close();
  await pass(14_000);
  const purged = new Set(two.sent.flatMap(tagsOf));
  assertEquals([...purged].toSorted(), tags);
});

Deno.test("each process purges while the store fails", async () => {
  await using opened = openTwo(null);
  const { one, two, pass, counts } = opened;
  await one.purge.purge("a", "c1");
  await two.purge.purge("a", "c1");
  await pass(10_000);
  assertEquals(counts(), [2, 2]);
});

/** A site whose purges a real server receives. */
async function startPurged(
  env: Record<string, string> = {},
  options: Pick<ServiceOptions, "kv"> = {},
) {
  const purged: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => {
      purged.push(...request.headers.get("xkey-purge")?.split(" ") ?? []);
      return new Response();
    },
  );
  const site = await startSite({ "posts/a.md": "# A\n" }, {
    ...options,
    env: {
      CACHE_PURGE: `varnish:http://127.0.0.1:${server.addr.port}`,
      ALLOWED_REPOS: "octo/*",
      GITHUB_TOKEN: "t1",
      ...env,
    },
  });
  site.gh.addToken("t1");
  const { clock, services } = site.service;
  /** Waits until a tag was purged. */
  const until = async (tag: string) => {
    for (let n = 0; !purged.includes(tag); n++) {
      assert(n < 2_000, `"${tag}" was not purged`);
      await new Promise((resume) => setTimeout(resume, 1));
    }
  };
  const pause = (ms: number) => new Promise((resume) => setTimeout(resume, ms));
  // The start purges everything twice.
  for (let seconds = 0; seconds < 10; seconds++) {
    await pause(5);
    clock.advance(1_000);
  }
  assertEquals(purged, [ALL_TAG, ALL_TAG]);
  purged.length = 0;
  return {
    ...{ clock, purged, services, site, until },
    async [Symbol.asyncDispose]() {
      await site[Symbol.asyncDispose]();
      await server.shutdown();
    },
  };
}

Deno.test("a move and a tombstone purge their tags", async () => {
  await using opened = await startPurged();
  const { clock, purged, site, until } = opened;
  await site.service.list();
  clock.advance(61_000);
  await site.service.list();
  assertEquals(purged, [], "unchanged");
  await site.repository.commit({ "posts/a.md": "# B\n" });
  clock.advance(61_000);
  await site.service.list();
  await until(MAIN);
  purged.length = 0;
  clock.advance(61_000);
  site.gh.remove("octo/site");
  assertEquals(
    (await site.service.problem(listPath())).code,
    "repository-not-found",
  );
  // The second purge of the move comes first.
  await new Promise((resume) => setTimeout(resume, 20));
  clock.advance(1_000);
  await until("octo/site");
});

Deno.test("a ref that only a cache requests is checked for a day", async () => {
  await using opened = await startPurged();
  const { clock, purged, services, site, until } = opened;
  await site.service.list();
  const checks = async (ms: number) => {
    site.gh.resetCounts();
    clock.advance(ms);
    await services.everySecond();
    return site.gh.requests.length;
  };
  clock.advance(1_000);
  assertEquals(await checks(298_000), 0);
  assertEquals(await checks(2_000), 1);
  assertEquals(await checks(299_000), 0);
  await site.repository.commit({ "posts/a.md": "# B\n" });
  assertEquals(await checks(2_000), 1);
  await until(MAIN);
  purged.length = 0;
  assertEquals(await checks(24 * 3_600_000), 0, "nothing is held any more");
});

const WEBHOOK = { GITHUB_WEBHOOK_SECRET: ENV.GITHUB_WEBHOOK_SECRET };

const pushOf = (ref: string) =>
  JSON.stringify({ ref, repository: { full_name: "octo/site" } });

Deno.test("a push that other processes cannot hear of purges its tag", async () => {
  const kv = await Deno.openKv(":memory:");
  await using opened = await startPurged(WEBHOOK, { kv });
  const { clock, purged, site, until } = opened;
  await deliver(site.service, pushOf("refs/heads/other"));
  await new Promise((resume) => setTimeout(resume, 20));
  assertEquals(purged, []);
  kv.atomic = () => {
    throw new Error("disk full");
  };
  clock.advance(2_000);
  await deliver(site.service, pushOf("refs/heads/main"));
  await until(MAIN);
});

Deno.test("with a webhook, refs in caches are checked after a push", async () => {
  await using opened = await startPurged(WEBHOOK);
  const { clock, services, site, until } = opened;
  await site.service.list();
  clock.advance(600_000);
  site.gh.resetCounts();
  await services.everySecond();
  assertEquals(site.gh.requests.length, 0);
  await site.repository.commit({ "posts/a.md": "# B\n" });
  await deliver(site.service, pushOf("refs/tags/v1"));
  await services.everySecond();
  await until(MAIN);
});

Deno.test("data responses say what caches in front may do", async () => {
  const maxAge = "public, max-age=60";
  const held = "max-age=86400";
  type Row = [env: Record<string, string>, headers: (string | null)[]];
  const rows: Row[] = [
    [{ CACHE_PURGE: "" }, [maxAge, null, null, "39"]],
    [{}, [maxAge, held, held, "39"]],
    [{ SHARED_MAX_AGE: "10" }, [`${maxAge}, s-maxage=10`, held, held, "10"]],
  ];
  for (const [env, expected] of rows) {
    const purge = { CACHE_PURGE: "varnish:http://127.0.0.1:1", ...env };
    await using site = await startSite({ "posts/a.md": "# A\n" }, {
      env: { ...purge, LOG_LEVEL: "silent" },
    });
    await site.service.get(listPath());
    site.service.clock.advance(20_000);
    const { headers } = await site.service.get(listPath());
    const names = [
      "cache-control",
      "cdn-cache-control",
      "surrogate-control",
      "x-accel-expires",
    ];
    assertEquals(names.map((name) => headers.get(name)), expected);
    assertEquals(
      headers.get("surrogate-key"),
      `${ALL_TAG} octo/site ${MAIN}`,
    );
  }
});

Deno.test("an answer that is not fresh is not held for a day", async () => {
  await using opened = await startPurged();
  const { clock, site } = opened;
  await site.service.list();
  clock.advance(61_000);
  site.gh.fault = { kind: "status", status: 500 };
  const { headers } = await site.service.get(listPath());
  assertMatch(headers.get("cache-status")!, /stale-if-error/);
  assertEquals(headers.get("cdn-cache-control"), "max-age=60");
  assertEquals(headers.get("x-accel-expires"), "0");
});
