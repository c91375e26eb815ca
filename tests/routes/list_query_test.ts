// Sort, filter and recursive at the door: what is refused, what the links carry, what is counted.

import { assertEquals } from "@std/assert";
import type { ListBody, ProblemBody } from "../../lib/api/contract.ts";
import { listPath, startService, type TestService } from "../service.ts";
import { startSite } from "../site.ts";

const POSTS = {
  "posts/a.md": "---\ntitle: Zebra\ntags: [deno, web]\ndraft: false\n---\n",
  "posts/b.md": "---\ntitle: Apple\ntags: [deno]\n---\n",
  "posts/2026/c.md": "---\ntitle: Mango\ntags: web\ndraft: true\n---\n",
  "posts/2026/01/d.md": "---\ntitle: 10\n---\n",
  "posts/2026/e.txt": "text\n",
};

async function errorsOf(service: TestService, query: string) {
  const problem = await service.problem(`${listPath()}&${query}`);
  assertEquals([query, problem.code], [query, "invalid-parameters"]);
  return problem.errors!.map(({ parameter, message }) => [parameter, message]);
}

Deno.test("a bad sort is 400 and says what is good", async () => {
  await using service = await startService();
  const message = 'must be path, name, size or frontMatter.<key>, with "-" in front for descending';
  const long = `frontMatter.${"a".repeat(300)}`;
  for (const sort of ["date", "-", "--path", "Path", "frontMatter.", "frontMatter.a..b", long]) {
    assertEquals(await errorsOf(service, `sort=${sort}`), [["sort", message]]);
  }
  assertEquals(await errorsOf(service, "sort=path&sort=name"), [["sort", "must be given once"]]);
  assertEquals(await errorsOf(service, "sort=%ff"), [[
    "sort",
    "has an escape that is no UTF-8 text",
  ]]);
});

Deno.test("a bad filter is 400 and named as it was given", async () => {
  await using service = await startService();
  const grammar =
    "must be filter[name], filter[path], filter[frontMatter.<key>] or filter[frontMatter.<key>][lt|lte|gt|gte|exists]";
  for (
    const name of ["filter", "filter[]", "filter[title]", "filter[frontMatter]", "filter[name"]
  ) {
    assertEquals(await errorsOf(service, `${name}=x`), [[name, grammar]]);
    assertEquals(await errorsOf(service, `${encodeURIComponent(name)}=x`), [[name, grammar]]);
  }
  const globs: [string, string][] = [
    ["filter[path]=a//b", 'must be a glob that can match: a segment of it is empty, "." or ".."'],
    ["filter[path]=../a", 'must be a glob that can match: a segment of it is empty, "." or ".."'],
    ["filter[path]=a**", 'must be a glob that can match: "**" has to be a whole segment'],
    ["filter[path]=!", 'must be a glob that can match: a segment of it is empty, "." or ".."'],
    ["filter[path]=%00", "must be a glob that can match: it has a control character"],
    ["filter[name]=a/b", "must be a glob without a slash: a name has none"],
    [`filter[path]=${"a".repeat(1025)}`, "must be at most 1024 characters long"],
    ["filter[path]=%ff", "has an escape that is no UTF-8 text"],
  ];
  for (const [query, message] of globs) {
    assertEquals(await errorsOf(service, query), [[query.split("=")[0], message]]);
  }
  const many = Array.from({ length: 21 }, (_, at) => `filter[name]=${at}`).join("&");
  assertEquals(await errorsOf(service, many), [["filter", "must be given at most 20 times"]]);
});

Deno.test("every bad parameter is named at once, filters last", async () => {
  await using service = await startService();
  const query =
    "filter[x]=1&filter[name]=a/b&recursive=maybe&sort=date&includeFrontMatter=yes&limit=0";
  assertEquals(
    (await errorsOf(service, query)).map(([parameter]) => parameter),
    ["limit", "includeFrontMatter", "sort", "recursive", "filter[x]", "filter[name]"],
  );
});

Deno.test("the same filter twice is and, an empty one is none", async () => {
  await using site = await startSite(POSTS);
  const names = async (query: string) => {
    const response = await site.service.get(`${listPath()}&${query}`);
    const { items, pagination }: ListBody = await response.json();
    assertEquals(pagination.totalItems, items.length);
    return items.map(({ name }) => name).join(" ");
  };

  assertEquals(await names("filter[frontMatter.tags]=deno"), "a.md b.md");
  assertEquals(
    await names("filter[frontMatter.tags]=deno&filter[frontMatter.tags]=web"),
    "a.md",
  );
  assertEquals(
    await names("filter%5BfrontMatter.tags%5D=deno&filter[frontMatter.tags]=!web"),
    "b.md",
  );
  assertEquals(await names("filter[frontMatter.draft]=!true"), "d.md e.txt a.md b.md");
  assertEquals(await names("filter[frontMatter.draft]=false"), "a.md");
  assertEquals(await names("filter[frontMatter.tags]=Deno"), "");
  assertEquals(await names("filter[frontMatter.title]=10"), "d.md");
  assertEquals(await names("filter[name]=*.md&filter[path]=!2026/**"), "a.md b.md");
  assertEquals(await names("filter[path]=2026/*"), "c.md e.txt");
  assertEquals(await names("filter[path]=**/?.md&filter[name]=!a*"), "d.md c.md b.md");
  assertEquals(await names("filter[name]=&filter[frontMatter.x]="), "d.md c.md e.txt a.md b.md");
});

Deno.test("pages count what is left, and their links lead through all of it", async () => {
  await using site = await startSite(POSTS);
  const { service } = site;
  const query = "sort=-frontMatter.title&limit=1&includeFrontMatter=1&recursive=true" +
    "&filter[name]=*.md&filter[frontMatter.tags]=deno&filter[frontMatter.tags]=!a%26b%3D%25%2B";

  const first: ListBody = await (await service.get(`${listPath()}&${query}`)).json();

  assertEquals(first.pagination, {
    page: 1,
    limit: 1,
    totalItems: 2,
    totalPages: 2,
    hasNext: true,
    hasPrevious: false,
  });
  const address = "http://localhost:8000/api/list-collection-items?owner=octo&repo=site" +
    "&collection=posts&page=1&limit=1&includeFrontMatter=true&sort=-frontMatter.title&recursive=true" +
    "&filter%5Bname%5D=*.md&filter%5BfrontMatter.tags%5D=deno" +
    "&filter%5BfrontMatter.tags%5D=!a%26b%3D%25%2B";
  assertEquals(first.links.self, address);
  assertEquals(first.links.next, address.replace("page=1", "page=2"));

  const response = await service.get(first.links.next!);
  const second: ListBody = await response.json();
  assertEquals(
    [first, second].map(({ items }) => items.map(({ frontMatter }) => frontMatter?.title)),
    [["Zebra"], ["Apple"]],
  );
  assertEquals(second.links.self, first.links.last);
  assertEquals(second.links.next, null);
  assertEquals(
    response.headers.get("link"),
    `<${address}>; rel="first", <${address}>; rel="prev", <${first.links.last}>; rel="last"`,
  );
  const again: ListBody = await (await service.get(second.links.previous!)).json();
  assertEquals(again, first);

  const past: ListBody = await (await service.get(address.replace("page=1", "page=9"))).json();
  assertEquals([past.items, past.pagination.totalItems], [[], 2]);
  assertEquals(past.links.previous, first.links.last);
});

Deno.test("recursive=false lists the files directly in the folder, by one plain question", async () => {
  await using site = await startSite({ ...POSTS, "posts/.hidden.md": "", "posts/z.md": "z" });
  const { service, gh } = site;

  const body = await service.list({ recursive: false });

  assertEquals(body.items.map(({ path }) => path), ["posts/a.md", "posts/b.md", "posts/z.md"]);
  assertEquals(body.pagination.totalItems, 3);
  // One for the root, in which the folder was found, and one for the folder.
  const { tree, "tree-recursive": recursive } = gh.counts();
  assertEquals([tree, recursive], [2, undefined]);

  const sorted = await service.list({ recursive: 0, sort: "-frontMatter.title" });
  assertEquals(sorted.items.map(({ name }) => name), ["a.md", "b.md", "z.md"]);
  assertEquals((await service.list({ recursive: true })).pagination.totalItems, 6);
});

Deno.test("a list that is sorted by path and not filtered is the plain list", async () => {
  await using site = await startSite(POSTS);
  const { service, gh } = site;
  const plain = await service.list();
  gh.resetCounts();
  for (const parameters of [{ sort: "path" }, { sort: "" }, { "filter[name]": "" }]) {
    const { items, pagination } = await service.list(parameters);
    assertEquals({ items, pagination }, { items: plain.items, pagination: plain.pagination });
  }
  const { items } = await service.list({ sort: "-path" });
  assertEquals(items, plain.items.toReversed());
  assertEquals(gh.counts(), {});
});

Deno.test("a caller who may cause no more is refused alone", async () => {
  await using site = await startSite(POSTS, { env: { MISSES_PER_MINUTE: "1" } });
  const { service } = site;
  const path = listPath({ sort: "frontMatter.title" });
  assertEquals((await service.get(listPath(), { remote: "192.0.2.1" })).status, 200);
  const [poor, rich] = await Promise.all(
    ["192.0.2.1", "192.0.2.2"].map((remote) => service.get(path, { remote })),
  );
  assertEquals([poor!.status, rich!.status], [429, 200]);
  assertEquals((await poor!.json() as ProblemBody).code, "too-many-requests");
});
