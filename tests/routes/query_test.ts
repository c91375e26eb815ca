// How a query string is read: strictly, each parameter once, unknown ones passed over.

import { assertEquals } from "@std/assert";
import type { ListBody } from "../../lib/api/contract.ts";
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";
import { badOnes } from "./bad_ones.ts";

const LIST = "/api/list-collection-items?";

Deno.test("a parameter is given once", async () => {
  await using service = await startService();

  for (const name of ["owner", "repo", "collection", "branch", "page", "limit", "includeContent"]) {
    const twice = `${listPath({ branch: "main", page: 1, limit: 1, includeContent: 1 })}&${name}=1`;
    assertEquals([name, await badOnes(service, twice)], [name, [name]]);
  }
  assertEquals(await badOnes(service, `${listPath()}&branch=&branch=main`), ["branch"]);
});

Deno.test("an empty parameter is bad where it is required, and else left out", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service } = site;

  assertEquals(await badOnes(service, listPath({ owner: "", repo: "", collection: "" })), [
    "owner",
    "repo",
    "collection",
  ]);
  assertEquals(await badOnes(service, itemPath({ path: "" })), ["path"]);
  const empty = { branch: "", page: "", limit: "", includeContent: "" };
  assertEquals((await service.list(empty)).links, (await service.list()).links);
  assertEquals((await service.get(itemPath({ path: "posts/a.md", format: "" }))).status, 200);
});

Deno.test("what cannot be decoded is bad, in a parameter that there is", async () => {
  await using site = await startSite({ "posts/a.md": "" });

  for (
    const value of ["%", "%f", "%zz", "%ff", "%c3", "%c0%af", "%ed%a0%80", "%f4%90%80%80", "a%"]
  ) {
    const path = `${LIST}owner=octo&repo=site&collection=${value}`;
    assertEquals([value, await badOnes(site.service, path)], [value, ["collection"]]);
    assertEquals(await badOnes(site.service, `${listPath()}&unknown=${value}&${value}=1`), null);
  }
});

Deno.test("a plus is a space, and %2B a plus", async () => {
  await using site = await startSite({ "a b/x.md": "", "a+b/y.md": "" });
  const pathsIn = async (collection: string) => {
    const path = `${LIST}owner=octo&repo=site&collection=${collection}`;
    const { items, links }: ListBody = await (await site.service.get(path)).json();
    const again: ListBody = await (await site.service.get(links.self)).json();
    assertEquals(again.items, items);
    return items.map((item) => item.path);
  };

  assertEquals(await pathsIn("a+b"), ["a b/x.md"]);
  assertEquals(await pathsIn("a%20b"), ["a b/x.md"]);
  assertEquals(await pathsIn("a%2Bb"), ["a+b/y.md"]);
});

Deno.test("names of parameters are decoded, and unknown ones are in no link", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const path =
    `${LIST}utm=1&%6fwner=octo&repo=site&Page=7&collection=posts&__proto__=1&constructor`;

  const body = await (await site.service.get(path)).json();

  const query = "owner=octo&repo=site&collection=posts&page=1";
  assertEquals(body.links.self, `http://localhost:8000${LIST}${query}`);
  assertEquals(body.links.last, body.links.self);
});
