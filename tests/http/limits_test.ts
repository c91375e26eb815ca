// Misses, checks and processor time cost, hits do not; a client is counted by
// its address.

import { assertEquals, assertThrows } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { clientOf } from "../../lib/http/client_address.ts";
import { HttpContext } from "../../lib/http/state.ts";
import { countReads } from "../cache/watched_kv.ts";
import { itemPath, listPath } from "../service.ts";
import { startSite } from "../site.ts";

const FILES = { "posts/a.md": "", "pages/b.md": "" };

/**
 * A site whose clients have so many misses a minute, and the status of a list
 * of one of its repositories.
 */
async function start(misses: number, env: Record<string, string> = {}) {
  const site = await startSite(FILES, {
    env: { MISSES_PER_MINUTE: `${misses}`, ...env },
  });
  const statusOf = async (
    repo: string,
    remote = "192.0.2.1",
    forwarded = "",
  ) => {
    const headers = { "x-forwarded-for": forwarded };
    return (await site.service.get(listPath({ repo }), { remote, headers }))
      .status;
  };
  return Object.assign(site, { statusOf });
}

Deno.test("clientOf() counts IPv4 one by one and IPv6 by /64", () => {
  const remote = "192.0.2.9";
  const keys: Record<string, string> = {
    "192.0.2.1": "192.0.2.1",
    "::ffff:192.0.2.1": "192.0.2.1",
    "::FFFF:c000:201": "192.0.2.1",
    "::ffff:8:0": "0.8.0.0",
    "0000:0000:0000:0000:0000:ffff:192.0.2.1": "192.0.2.1",
    "::ffff:0:808:808": "0:0:0:0::/64",
    "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
    "2001:0DB8:0001:0002:ffff::": "2001:db8:1:2::/64",
    "2001:db8::1": "2001:db8:0:0::/64",
    "2001:db8:1::2:0:0:1": "2001:db8:1:0::/64",
    "fe80::1%eth0": "fe80:0:0:0::/64",
    "::1": "0:0:0:0::/64",
    "203.0.113.1, 203.0.113.2, 198.51.100.2": "198.51.100.2",
    "203.0.113.1,198.51.100.2:4711": "198.51.100.2",
    "[2001:db8:1:2::3]:443": "2001:db8:1:2::/64",
    "[::ffff:c633:6402]:443": "198.51.100.2",
    "": remote,
    "203.0.113.1,": remote,
  };
  const remoteAddr = { transport: "tcp", hostname: remote, port: 1 } as const;
  for (const [forwarded, key] of Object.entries(keys)) {
    const headers = { "x-forwarded-for": forwarded };
    const request = new Request("http://a", { headers });
    const found = clientOf(request, { remoteAddr }, { trustProxy: true });
    assertEquals([forwarded, found], [forwarded, key]);
  }
});

Deno.test("misses count for the remote or the forwarded address", async () => {
  for (const [trust, second] of [["false", 429], ["true", 404]] as const) {
    await using site = await start(1, { TRUST_PROXY: trust });
    const statuses = [
      await site.statusOf("r1", "192.0.2.1", "203.0.113.1, 198.51.100.1"),
      await site.statusOf("r2", "192.0.2.1", "203.0.113.1, 198.51.100.2"),
    ];
    assertEquals(statuses, [404, second]);
  }
});

Deno.test("a client past its misses gets 429, but hits go on", async () => {
  await using site = await start(2);
  const { service, statusOf } = site;
  assertEquals([await statusOf("site"), await statusOf("r1")], [200, 404]);

  assertEquals(await statusOf("site"), 200);

  // Time is monotonic.
  service.clock.setWallClock(service.clock.now() - 3_600_000);
  const refused = await service.get(listPath({ repo: "r2" }));
  assertEquals([refused.status, refused.headers.get("retry-after")], [
    429,
    "30",
  ]);
  assertEquals(refused.headers.get("ratelimit-policy"), '"misses";q=2;w=60');
  assertEquals(refused.headers.get("ratelimit"), '"misses";r=0;t=60');
  assertEquals(await statusOf("r3", "192.0.2.2"), 404);

  service.clock.advance(29_999);
  assertEquals(await statusOf("r2"), 429);
  service.clock.advance(1);
  assertEquals([await statusOf("r2"), await statusOf("r4")], [404, 429]);
});

Deno.test("a check of a known branch costs a quarter of a miss", async () => {
  await using site = await start(2);
  const { service, gh, statusOf } = site;
  const branches = ["main", "HEAD"];
  for (const branch of branches) await service.list({ branch });
  service.clock.advance(60_000);
  for (const branch of branches) await service.list({ branch });
  assertEquals(await statusOf("n1"), 404);

  const refused = await service.get(listPath({ repo: "n2" }));
  assertEquals(
    refused.headers.get("retry-after"),
    "15",
    "half a miss is missing",
  );
  service.clock.advance(60_000);
  assertEquals([await statusOf("n3"), await statusOf("n4")], [404, 404]);
  gh.resetCounts();
  assertEquals([await statusOf("site"), await statusOf("site")], [429, 429]);
  assertEquals(gh.counts(), {});
});

Deno.test("older responses cost nothing while the source fails", async () => {
  await using site = await start(2);
  const { service, gh, statusOf } = site;
  await service.list();
  gh.fault = { kind: "status", status: 500 };
  service.clock.advance(60_000);
  for (let request = 0; request < 20; request++) {
    assertEquals(await statusOf("site"), 200);
  }
});

Deno.test("bad requests cost their client 1 ms each at least", async () => {
  await using site = await start(2);
  const { service, statusOf } = site;
  const bad = [listPath({ page: 0 }), itemPath({ path: "" })];
  for (let request = 0; request < 90; request++) {
    await service.send(bad[request % 2]!);
  }
  assertEquals([await statusOf("n1"), await statusOf("n2")], [404, 429]);
  assertEquals(await statusOf("n2", "192.0.2.2"), 404);
});

Deno.test("charge() costs a miss for 100 ms of processor time", async () => {
  await using site = await start(2);
  const { rateLimit } = site.service.services;
  const context = (hostname: string) => {
    const remoteAddr = { transport: "tcp", hostname, port: 50_000 } as const;
    const info = { remoteAddr, completed: Promise.resolve() };
    const request = new Request("http://localhost");
    return new HttpContext(request, info, site.service.services);
  };
  const left = (client: string) => {
    const headers = new Headers();
    rateLimit.describe(client, headers);
    return headers.get("ratelimit")!.slice('"misses";'.length);
  };
  const [a, b, c] = ["192.0.2.7", "192.0.2.8", "192.0.2.9"] as const;
  const [first, second] = [context(a), context(b)];
  first.charge(75);
  first.charge(75);
  second.recordMiss();
  second.charge(100);
  for (let request = 0; request < 20; request++) context(c).charge(5);
  assertEquals([a, b, c].map(left), ["r=0;t=45", "r=1;t=30", "r=1;t=30"]);

  // A debt is worked off within a window.
  context(b).charge(1_000_000);
  second.requireMiss();
  second.charge(1_000_000);
  assertEquals(left(b), "r=0;t=90");
  const error = assertThrows(() => context(b).requireMiss(), CollectionsError);
  assertEquals(error.facts.retryAfterSeconds, 60);
  site.service.clock.advance(60_000);
  context(b).requireMiss();
});

Deno.test("a client past its limit causes no read of the store", async () => {
  const kv = await Deno.openKv(":memory:");
  const reads = countReads(kv);
  await using site = await startSite(FILES, {
    kv,
    env: { MISSES_PER_MINUTE: "1" },
  });
  await site.service.list();
  const { count } = reads;
  const misses = [
    { repo: "none" },
    { branch: "other" },
    { page: 2 },
    { sort: "name" },
  ];
  for (const parameters of misses) {
    const path = listPath(parameters);
    assertEquals([path, (await site.service.get(path)).status], [path, 429]);
  }
  await site.service.list();
  assertEquals(reads.count, count);
});

Deno.test("a request that joins another one's work is no miss", async () => {
  const files = { "src/posts/a.md": "", "src/pages/b.md": "" };
  const remote = "192.0.2.2";
  const rows = [
    { collection: "src/posts", status: 404 },
    { collection: "src/pages", status: 429 },
  ];
  for (const { collection, status } of rows) {
    await using site = await startSite(files, {
      env: { MISSES_PER_MINUTE: "1" },
    });
    const { service, gh } = site;
    // The first request waits for its tree when the second one comes.
    let trees = 0;
    gh.fault = ({ kind }) =>
      kind === "tree-recursive" && ++trees === 1 ? { kind: "hang" } : null;
    const first = service.list({ collection: "src/posts" });
    await gh.log.until(() => gh.pauses.waiting === 1);
    const second = service.list({ collection }, { remote });
    if (collection === "src/pages") await second;
    gh.pauses.release();
    await Promise.all([first, second]);
    const unknown = listPath({ repo: "none" });
    assertEquals((await service.get(unknown, { remote })).status, status);
  }
});
