// Misses cost, hits do not; a client is counted by its address.

import { assertEquals } from "@std/assert";
import { clientAddress, clientKey } from "../../lib/http/limits.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

const FILES = { "posts/a.md": "", "pages/b.md": "" };

/** A site whose clients have so many misses a minute, and the status of a list of one of its repositories. */
async function start(misses: number, env: Record<string, string> = {}) {
  const site = await startSite(FILES, { env: { MISSES_PER_MINUTE: `${misses}`, ...env } });
  const statusOf = async (repo: string, remote = "192.0.2.1", forwarded = "") => {
    const headers = { "x-forwarded-for": forwarded };
    return (await site.service.get(listPath({ repo }), { remote, headers })).status;
  };
  return Object.assign(site, { statusOf });
}

Deno.test("clientKey() counts IPv4 addresses one by one, IPv6 by their /64", () => {
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
    "": "",
  };
  for (const [address, key] of Object.entries(keys)) {
    assertEquals([address, clientKey(address)], [address, key]);
  }
});

Deno.test("clientAddress() takes the last entry of X-Forwarded-For, behind a trusted proxy only", () => {
  const remote = "192.0.2.9";
  const rows: [forwarded: string | null, address: string, trustProxy?: boolean][] = [
    ["203.0.113.1, 203.0.113.2, 198.51.100.2", "198.51.100.2"],
    ["203.0.113.1,198.51.100.2:4711", "198.51.100.2"],
    ["[2001:db8:1:2::3]:443", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::3", "2001:db8:1:2::/64"],
    ["[::ffff:c633:6402]:443", "198.51.100.2"],
    ...[null, "", " ", "203.0.113.1,", ", "].map((none): [string | null, string] => [none, remote]),
    ["203.0.113.1", remote, false],
  ];
  for (const [forwarded, address, trustProxy = true] of rows) {
    const headers = forwarded === null ? {} : { "x-forwarded-for": forwarded };
    const found = clientAddress(new Request("http://a", { headers }), { remote, trustProxy });
    assertEquals([forwarded, found], [forwarded, address]);
  }
});

Deno.test("misses count for the remote address, or for the last one that a trusted proxy named", async () => {
  for (const [trust, expected] of [["false", [404, 429]], ["true", [404, 404]]] as const) {
    await using site = await start(1, { TRUST_PROXY: trust });
    const statuses = [
      await site.statusOf("r1", "192.0.2.1", "203.0.113.1, 198.51.100.1"),
      await site.statusOf("r2", "192.0.2.1", "203.0.113.1, 198.51.100.2"),
    ];
    assertEquals(statuses, [...expected]);
  }
});

Deno.test("past its misses a client gets 429 for the time that Retry-After and RateLimit say; its hits and other clients go on", async () => {
  await using site = await start(2);
  const { service, statusOf } = site;
  assertEquals([await statusOf("site"), await statusOf("r1")], [200, 404]);

  // Time is monotonic.
  service.clock.setWallClock(service.clock.now() - 3_600_000);
  const refused = await service.get(listPath({ repo: "r2" }));
  assertEquals([refused.status, refused.headers.get("retry-after")], [429, "30"]);
  assertEquals(refused.headers.get("ratelimit-policy"), '"misses";q=2;w=60');
  assertEquals(refused.headers.get("ratelimit"), '"misses";r=0;t=60');
  assertEquals(await statusOf("site"), 200);
  assertEquals(await statusOf("r3", "192.0.2.2"), 404);

  service.clock.advance(29_999);
  assertEquals(await statusOf("r2"), 429);
  service.clock.advance(1);
  assertEquals([await statusOf("r2"), await statusOf("r4")], [404, 429]);
});

Deno.test("a re-check of a known branch is no miss, nor is a bad request or a repeated not-found", async () => {
  await using site = await start(2);
  const { service, gh, statusOf } = site;
  for (const path of [listPath({ page: 0 }), listPath({ page: -1 }), "/none"]) {
    await service.problem(path);
  }
  await service.list();
  await statusOf("none");

  gh.resetCounts();
  assertEquals(await statusOf("none"), 404);
  assertEquals(gh.counts(), {});
  for (let minute = 0; minute < 3; minute++) {
    service.clock.advance(60_000);
    const statuses = [await statusOf("n1"), await statusOf("n2"), await statusOf("n3")];
    assertEquals([...statuses, await statusOf("site")], [404, 404, 429, 200]);
  }
});

Deno.test("a request that joins another one's work is no miss, and one that adds to it is", async () => {
  const files = { "src/posts/a.md": "", "src/pages/b.md": "" };
  const remote = "192.0.2.2";
  for (const [collection, status] of [["src/posts", 404], ["src/pages", 429]] as const) {
    await using site = await startSite(files, { env: { MISSES_PER_MINUTE: "1" } });
    const { service, gh } = site;
    // The first request waits for its tree when the second one comes.
    let trees = 0;
    gh.fault = ({ kind }) => kind === "tree-recursive" && ++trees === 1 ? { kind: "hang" } : null;
    const first = service.list({ collection: "src/posts" });
    await gh.log.until(() => gh.pauses.waiting === 1);
    const second = service.list({ collection }, { remote });
    if (collection === "src/pages") await second;
    gh.pauses.release();
    await Promise.all([first, second]);
    assertEquals((await service.get(listPath({ repo: "none" }), { remote })).status, status);
  }
});
