// Under which address the service was reached; behind a proxy by what the nearest one wrote down.

import { assertEquals } from "@std/assert";
import type { ListBody } from "../../lib/api/contract.ts";
import { baseUrl } from "../../lib/http/base_url.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

const FILES = { "posts/a.md": "" };

Deno.test("baseUrl() takes nothing that is no host or protocol", () => {
  const origin = (headers: Record<string, string>) =>
    baseUrl(new Request("http://own.test:8000/x", { headers }), {
      publicUrl: null,
      trustProxy: true,
    });
  const hosts = [
    "a b",
    "a/b",
    "a?b",
    "a#b",
    "a@b",
    "<a>",
    "a:999999",
    "a:99999",
    "[::1",
    "a\\b",
    "%",
  ];

  assertEquals(origin({ "x-forwarded-host": "a.test, c.test, b.test:8080" }), "http://b.test:8080");
  assertEquals(origin({ "x-forwarded-host": "[::1]:81" }), "http://[::1]:81");
  assertEquals(
    origin({ "x-forwarded-proto": "http, HTTPS", "x-forwarded-host": "b.test" }),
    "https://b.test",
  );
  assertEquals(origin({ "x-forwarded-proto": "https" }), "https://own.test:8000");
  for (const host of hosts) {
    assertEquals([host, origin({ "x-forwarded-host": host })], [host, "http://own.test:8000"]);
  }
  for (const protocol of ["ftp", "javascript", "https:", "", "http https"]) {
    assertEquals(origin({ "x-forwarded-proto": protocol }), "http://own.test:8000");
  }
});

Deno.test("PUBLIC_URL is where all addresses of answers and problems begin", async () => {
  await using site = await startSite(FILES, {
    env: { PUBLIC_URL: "https://api.test/collections/", TRUST_PROXY: "true" },
  });
  const { service } = site;
  const headers = { "x-forwarded-host": "evil.test" };

  for (const url of [listPath(), listPath(), `http://other.test${listPath()}`]) {
    const response = await service.get(url, { headers });
    const { links, items }: ListBody = await response.json();
    const addresses = [links.self, links.first, links.last, items[0]!.contentUrl];
    for (const address of addresses) {
      assertEquals(address.startsWith("https://api.test/collections/api/"), true);
    }
    assertEquals(response.headers.get("link")?.startsWith(`<${links.first}>`), true);
  }
  const { type } = await service.problem("/none", { headers });
  assertEquals(type, "https://api.test/collections/problems/route-not-found");
});

Deno.test("without TRUST_PROXY no forwarded header says where the service is", async () => {
  await using site = await startSite(FILES);

  for (const host of ["evil.test", "evil2.test"]) {
    const headers = { "x-forwarded-host": host, "x-forwarded-proto": "https" };
    const { links } = await site.service.list({}, { headers });
    assertEquals(new URL(links.self).origin, "http://localhost:8000");
  }
});

Deno.test("behind a trusted proxy each origin has its own answers, kept apart", async () => {
  await using site = await startSite(FILES, { env: { TRUST_PROXY: "true" } });

  for (const host of ["a.test", "b.test", "a.test", "b.test"]) {
    for (const proto of ["http", "https"]) {
      const headers = { "x-forwarded-host": `x.test, ${host}`, "x-forwarded-proto": proto };
      const { links } = await site.service.list({}, { headers });
      assertEquals(new URL(links.self).origin, `${proto}://${host}`);
    }
  }
});
