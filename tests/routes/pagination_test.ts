// Pages and the links between them, in the body and as a `Link` header.

import { assertEquals } from "@std/assert";
import type { ListBody } from "../../lib/api/contract.ts";
import { listPath, type Parameters } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const FILES = ["a", "b", "c", "d", "e"].map((name): [string, string] => [`posts/${name}.md`, name]);

/** Slugs, counts and page numbers of one page; the header is held to the body. */
async function pageOf(site: Site, parameters: Parameters) {
  const response = await site.service.get(listPath(parameters));
  const { items, pagination, links }: ListBody = await response.json();
  assertEquals(response.status, 200);
  const relations = {
    first: links.first,
    prev: links.previous,
    next: links.next,
    last: links.last,
  };
  assertEquals(
    response.headers.get("link"),
    Object.entries(relations).filter(([, url]) => url !== null)
      .map(([rel, url]) => `<${url}>; rel="${rel}"`).join(", "),
  );
  const numberOf = (url: string | null) =>
    url === null ? null : Number(new URL(url).searchParams.get("page"));
  const { totalItems, totalPages, hasNext, hasPrevious } = pagination;
  assertEquals([hasPrevious, hasNext], [links.previous !== null, links.next !== null]);
  return {
    slugs: items.map(({ slug }) => slug).join(""),
    totals: [totalItems, totalPages],
    pages: [links.self, links.first, links.previous, links.next, links.last].map(numberOf),
  };
}

Deno.test("the first, a middle and the last page lead to each other", async () => {
  await using site = await startSite(FILES);
  const totals = [5, 3];

  assertEquals(await pageOf(site, { limit: 2 }), {
    slugs: "ab",
    totals,
    pages: [1, 1, null, 2, 3],
  });
  assertEquals(await pageOf(site, { limit: 2, page: 2 }), {
    slugs: "cd",
    totals,
    pages: [2, 1, 1, 3, 3],
  });
  assertEquals(await pageOf(site, { limit: 2, page: 3 }), {
    slugs: "e",
    totals,
    pages: [3, 1, 2, null, 3],
  });
});

Deno.test("one page holds all where the limit is that of the items or more", async () => {
  await using site = await startSite(FILES);

  for (const limit of [5, 6, 1000]) {
    assertEquals(await pageOf(site, { limit }), {
      slugs: "abcde",
      totals: [5, 1],
      pages: [1, 1, null, null, 1],
    });
  }
});

Deno.test("a page past the end is empty, has true totals, and the last page before it", async () => {
  await using site = await startSite(FILES);

  for (const page of [4, 5, 999_999_999]) {
    assertEquals(await pageOf(site, { limit: 2, page }), {
      slugs: "",
      totals: [5, 3],
      pages: [page, 1, 3, null, 3],
    });
  }
});

Deno.test("a collection without items has no pages, and page 1 as first and last", async () => {
  await using site = await startSite({ "posts/.gitkeep": "", "a.md": "" });

  for (const page of [1, 2]) {
    assertEquals(await pageOf(site, { page }), {
      slugs: "",
      totals: [0, 0],
      pages: [page, 1, null, null, 1],
    });
  }
});

Deno.test("links are followed from the first page to the last, each item once", async () => {
  await using site = await startSite(FILES);
  const slugs: string[] = [];
  let url: string | null = listPath({ limit: 2, includeContent: true });
  while (url !== null) {
    const body: ListBody = await (await site.service.get(url)).json();
    slugs.push(...body.items.map(({ slug, content }) => `${slug}=${content}`));
    url = body.links.next;
  }

  assertEquals(slugs, ["a=a", "b=b", "c=c", "d=d", "e=e"]);
});

Deno.test("links carry the known parameters in the table's order, those left out not", async () => {
  await using site = await startSite([["a&b/é.md", ""], ["a&b/f.md", ""]]);
  const query =
    "limit=1&x=1&includeContent=1&page=2&branch=main&collection=/a%26b/&repo=site&owner=octo";

  const body: ListBody = await (await site.service.get(`/api/list-collection-items?${query}`))
    .json();

  const linked = (page: number) =>
    "http://localhost:8000/api/list-collection-items?owner=octo&repo=site&collection=a%26b&branch=main" +
    `&page=${page}&limit=1&includeContent=true`;
  assertEquals(body.links, {
    self: linked(2),
    first: linked(1),
    previous: linked(1),
    next: null,
    last: linked(2),
  });
});
