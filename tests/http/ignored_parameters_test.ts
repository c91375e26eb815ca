// Unknown parameters are named in `warnings`, and in the cache as far as they
// are shown.

import { assertEquals } from "@std/assert";
import { changesPath, itemPath, listPath } from "../service.ts";
import { startSite } from "../site.ts";

const files = { "posts/a.md": "# A\n" };
const ITEM = itemPath({ path: "posts/a.md" });
const named = (...names: string[]) => [
  `Ignored unknown parameters: ${
    names.map((name) => JSON.stringify(name)).join(", ")
  }`,
];

Deno.test("lists, items and changes name unknown parameters", async () => {
  await using site = await startSite(files);
  const many = Array.from({ length: 20 }, (_, n) => `p${10 + n}`);
  const long = "x".repeat(65);
  const rows: [added: string, warnings: string[] | undefined][] = [
    ["", undefined],
    ["&=1&&%=1", undefined],
    ["&includeHTML=true&b", named("b", "includeHTML")],
    ["&b&includeHTML=2&b=3", named("b", "includeHTML")],
    ["&constructor=1&__proto__=2", named("__proto__", "constructor")],
    ["&%22%0a%3cb%3e=1", named('"\n<b>')],
    [many.map((name) => `&${name}=1`).join(""), named(...many.slice(0, 10))],
    [`&${long}=1`, named(long.slice(1))],
  ];
  const changes = changesPath({ since: await site.repository.head() });
  for (const path of [listPath(), ITEM, changes]) {
    for (const [added, warnings] of rows) {
      const body = await (await site.service.get(path + added)).json();
      assertEquals([added, body.warnings], [added, warnings]);
      assertEquals(JSON.stringify(body.links ?? {}).includes("HTML"), false);
    }
  }
});

Deno.test("what is not shown makes no response of its own", async () => {
  await using site = await startSite(files);
  const { service } = site;
  const rows: [first: string, second: string][] = [
    [`${listPath()}&a=1&b=2`, `${listPath()}&b=3&a=4&a=5`],
    [`${listPath()}&${"x".repeat(64)}`, `${listPath()}&${"x".repeat(80)}`],
    [`${ITEM}&a=1`, `${ITEM}&a=2`],
    [listPath(), listPath({ linkTemplate: "/{slug}" })],
    [ITEM, `${ITEM}&branch=main&sort=name&linkTemplate=/{slug}`],
    [`${ITEM}&format=raw`, `${ITEM}&format=raw&a=1`],
  ];
  const hits = () => {
    const text = service.services.metrics.toText();
    return Number(/tier="response"} (\d+)/.exec(text)?.[1] ?? 0);
  };
  for (const [first, second] of rows) {
    await (await service.get(first)).body?.cancel();
    const before = hits();
    await (await service.get(second)).body?.cancel();
    assertEquals([second, hits()], [second, before + 1]);
  }
});
