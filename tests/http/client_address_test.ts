// Who asks; behind a proxy by what the nearest one wrote down.

import { assertEquals } from "@std/assert";
import { clientAddress, clientKey } from "../../lib/http/client_address.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

const FILES = { "posts/a.md": "" };

Deno.test("clientKey() counts IPv4 addresses one by one, IPv6 by their /64", () => {
  const keys: Record<string, string> = {
    "192.0.2.1": "192.0.2.1",
    "::ffff:192.0.2.1": "192.0.2.1",
    "::FFFF:c000:201": "192.0.2.1",
    "::ffff:102:304": "1.2.3.4",
    "::ffff:8:0": "0.8.0.0",
    "0:0:0:0:0:ffff:808:808": "8.8.8.8",
    "0000:0000:0000:0000:0000:ffff:192.0.2.1": "192.0.2.1",
    "::ffff:0:808:808": "0:0:0:0::/64",
    "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
    "2001:DB8:1:2::1": "2001:db8:1:2::/64",
    "2001:0db8:0001:0002:ffff::": "2001:db8:1:2::/64",
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
  const addressOf = (forwarded: string | null, trustProxy = true) =>
    clientAddress(
      new Request(
        "http://a",
        forwarded === null ? {} : {
          headers: { "x-forwarded-for": forwarded },
        },
      ),
      { remote: "192.0.2.9", trustProxy },
    );

  assertEquals(addressOf("203.0.113.1, 203.0.113.2, 198.51.100.2"), "198.51.100.2");
  assertEquals(addressOf("203.0.113.1,198.51.100.2:4711"), "198.51.100.2");
  assertEquals(addressOf("[2001:db8:1:2::3]:443"), "2001:db8:1:2::/64");
  assertEquals(addressOf("2001:db8:1:2::3"), "2001:db8:1:2::/64");
  assertEquals(addressOf("[::ffff:c633:6402]:443"), "198.51.100.2");
  for (const none of [null, "", " ", "203.0.113.1,", ", "]) {
    assertEquals(addressOf(none), "192.0.2.9");
  }
  assertEquals(addressOf("203.0.113.1", false), "192.0.2.9");
});

Deno.test("misses count for the address at the other end, or the last one that a trusted proxy named", async () => {
  const statuses = async (env: Record<string, string>) => {
    await using site = await startSite(FILES, { env: { MISSES_PER_MINUTE: "1", ...env } });
    const ask = async (remote: string, forwarded: string, repo: string) => {
      const headers = { "x-forwarded-for": forwarded };
      return (await site.service.get(listPath({ repo }), { remote, headers })).status;
    };
    return [
      await ask("192.0.2.1", "203.0.113.1, 198.51.100.1", "r1"),
      await ask("192.0.2.1", "203.0.113.1, 198.51.100.2", "r2"),
      await ask("192.0.2.2", "203.0.113.2, 198.51.100.2", "r3"),
    ];
  };

  assertEquals(await statuses({}), [404, 429, 404]);
  assertEquals(await statuses({ TRUST_PROXY: "true" }), [404, 404, 429]);
});
