// Parameters at the door: the limits of the contract's tables, both sides of each.

import { assertEquals } from "@std/assert";
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";
import { badOnes } from "./bad_ones.ts";

const LIST = "/api/list-collection-items?";
const ITEM = "/api/get-item-content?";

Deno.test("list-collection-items names every bad parameter at once, in the table's order", async () => {
  await using service = await startService();

  assertEquals(await badOnes(service, LIST), ["owner", "repo", "collection"]);
  const worst =
    "includeContent=yes&limit=1e3&page=0&branch=a..b&collection=a//b&repo=.git&owner=-x";
  assertEquals(
    await badOnes(service, LIST + worst),
    ["owner", "repo", "collection", "branch", "page", "limit", "includeContent"],
  );
});

Deno.test("get-item-content names every bad parameter at once, in the table's order", async () => {
  await using service = await startService();

  assertEquals(await badOnes(service, ITEM), ["owner", "repo", "path"]);
  assertEquals(
    await badOnes(service, ITEM + "format=xml&path=/a&branch=a~1&repo=a%20b&owner=a.b"),
    ["owner", "repo", "branch", "path", "format"],
  );
});

const BOUNDS: readonly [string, string, string, boolean][] = [
  ["list", "owner", "a".repeat(39), true],
  ["list", "owner", "a".repeat(40), false],
  ["list", "repo", "a".repeat(100), true],
  ["list", "repo", "a".repeat(101), false],
  ["list", "repo", "..", false],
  ["list", "repo", "a.git", false],
  ["list", "collection", "ü".repeat(512), true],
  ["list", "collection", "ü".repeat(512) + "a", false],
  ["list", "collection", "/", true],
  ["list", "collection", "//a/b//", true],
  ["list", "collection", "a//b", false],
  ["list", "collection", "a/../b", false],
  ["list", "collection", "./a", false],
  ["list", "collection", "a\nb", false],
  ["list", "collection", "a\u007f", false],
  ["list", "collection", "a\u0085", false],
  ["list", "branch", "ü".repeat(127) + "a", true],
  ["list", "branch", "ü".repeat(128), false],
  ["list", "page", "999999999", true],
  ["list", "page", "1000000000", false],
  ["list", "limit", "1", true],
  ["list", "limit", "1000", true],
  ["list", "limit", "1001", false],
  ["list", "includeContent", "1", true],
  ["list", "includeContent", "0", true],
  ["list", "includeContent", "TRUE", false],
  ["item", "path", "ü".repeat(2048), true],
  ["item", "path", "ü".repeat(2048) + "a", false],
  ["item", "path", "a/", false],
  ["item", "path", "/a", false],
  ["item", "path", "a//b", false],
  ["item", "path", "a/./b", false],
  ["item", "path", "../a", false],
  ["item", "path", "a\u0000b", false],
  ["item", "path", "...", true],
  ["item", "path", "a\\b:c*?", true],
  ["item", "format", "raw", true],
  ["item", "format", "json", true],
  ["item", "format", "RAW", false],
];

Deno.test("parameters are taken up to their bounds, and no further", async () => {
  await using site = await startSite({ "a": "" }, { env: { MISSES_PER_MINUTE: "0" } });

  for (const [operation, name, value, good] of BOUNDS) {
    const path = operation === "list"
      ? listPath({ [name]: value })
      : itemPath({ path: "a", [name]: value });
    const expected = good ? null : [name];
    assertEquals([name, value, await badOnes(site.service, path)], [name, value, expected]);
  }
});

Deno.test("integers are plain digits, and nothing is clamped", async () => {
  await using service = await startService();
  const bad = [
    "0",
    "-1",
    "+1",
    "%2B1",
    "01",
    "1.0",
    "1.5",
    "1e2",
    "0x1",
    "%20",
    "1%20",
    "1_0",
    "Infinity",
    "٣",
  ];

  for (const name of ["page", "limit"]) {
    for (const value of [...bad, "1000000000", "99999999999999999999"]) {
      assertEquals([value, await badOnes(service, `${listPath()}&${name}=${value}`)], [value, [
        name,
      ]]);
    }
  }
});

Deno.test("limit is at most 100 when content is included", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service } = site;

  assertEquals(await badOnes(service, listPath({ limit: 101, includeContent: true })), ["limit"]);
  assertEquals(await badOnes(service, listPath({ limit: 101, includeContent: 1 })), ["limit"]);
  assertEquals(await badOnes(service, listPath({ limit: 101, includeContent: false })), null);
  assertEquals(await badOnes(service, listPath({ limit: 100, includeContent: true })), null);
  // Both faults of one request, each named once.
  assertEquals(
    await badOnes(service, listPath({ limit: 101, includeContent: true, page: 0 })),
    ["page", "limit"],
  );
});
