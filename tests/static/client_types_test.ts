// The client's types, which the service uses too, are those of the OpenAPI
// document: a field that one side has and the other has not, or of another
// type, does not compile here. What runs is only that the file was checked at
// all.

import { assertEquals } from "@std/assert";
import type { z } from "zod";
import type {
  ChangesParameters,
  CollectionsParameters,
  ItemParameters,
  ListParameters,
} from "../../lib/api/parameters.ts";
import type { ProblemCode } from "../../lib/errors.ts";
import type * as client from "../../packages/client/client.ts";
import type {
  changesBody,
  collectionsBody,
  contentBody,
  itemBody,
  listBody,
  problemBody,
} from "../api/body_schemas.ts";

/**
 * A type with its parts spelled out, so that interfaces and intersections
 * compare by their parts.
 */
type Flat<T> = T extends readonly (infer E)[] ? Flat<E>[]
  : T extends object ? { [K in keyof T]: Flat<T[K]> }
  : T;

/**
 * True only where both are the same, optional parts too: assignable both ways
 * would let those differ.
 */
type Same<A, B> = (<T>() => T extends Flat<A> ? 1 : 2) extends
  (<T>() => T extends Flat<B> ? 1 : 2) ? true
  : false;

function hold<_T extends true>(): void {}

Deno.test("the client has the contract's types", () => {
  type Page = z.infer<typeof listBody>;
  hold<Same<Omit<client.ItemPage, "items">, Omit<Page, "items">>>();
  hold<Same<client.Item, z.infer<typeof itemBody>>>();
  hold<Same<client.ItemContent, z.infer<typeof contentBody>>>();
  hold<
    Same<
      Omit<client.Problem, "code">,
      Omit<z.infer<typeof problemBody>, "code">
    >
  >();
  hold<
    Same<Exclude<client.ProblemCode, "not-a-service-answer">, ProblemCode>
  >();
  hold<Same<client.CollectionList, z.infer<typeof collectionsBody>>>();
  hold<
    Same<client.CollectionsParameters, Omit<CollectionsParameters, "ignored">>
  >();
  hold<Same<client.CollectionChanges, z.infer<typeof changesBody>>>();
  hold<Same<client.ChangesParameters, Omit<ChangesParameters, "ignored">>>();
  // The client writes filters as an object and lists of keys as they are sent,
  // and requests JSON only. The service sets a `page` that is missing.
  type Own = "page" | "filter" | "kind" | "fields" | "facets";
  type Asked = Omit<ListParameters, "format" | "feedTitle" | "ignored">;
  hold<Same<Omit<client.ListParameters, Own>, Omit<Asked, Own>>>();
  hold<Same<keyof client.ListParameters, keyof Asked>>();
  type Names = Own | "path" | "slug" | "collection";
  type Item = client.ItemParameters & client.SlugParameters;
  type AskedItem = Omit<ItemParameters, "format" | "ignored">;
  hold<Same<Omit<Item, Names>, Omit<AskedItem, Names>>>();
  hold<Same<keyof Item, keyof AskedItem>>();

  // The comparison sees what differs.
  // @ts-expect-error: a part is missing.
  hold<Same<{ a: string }, { a: string; b?: string }>>();
  // @ts-expect-error: one side may lack it.
  hold<Same<{ a?: string }, { a: string }>>();
  // @ts-expect-error: another type, deep inside.
  hold<Same<{ a: { b: string }[] }, { a: { b: number }[] }>>();
});

interface Post {
  title: string;
  date?: string;
  tags: string[];
  author: { name: string };
}

/** Never called: what does not compile is the test. */
async function typed(client: client.CollectionsClient): Promise<void> {
  const at = { owner: "local", repo: "blog", collection: "posts" };
  const posts = client.collection<Post>(at);

  const { items, facets } = await posts.list({
    sort: "-frontMatter.date",
    filter: { "frontMatter.author.name": "tom", name: "*.md", "data.n": 1 },
    fields: ["slug", "frontMatter.title", "frontMatter.author.name"],
    facets: ["frontMatter.tags"],
    kind: ["markdown", "data"],
  });
  type Picked = {
    slug: string;
    error?: client.ItemError | undefined;
    htmlError?: { message: string } | undefined;
    frontMatterError?: client.FrontMatterError | undefined;
    frontMatter?: Pick<Post, "title" | "author"> | undefined;
  };
  hold<Same<(typeof items)[0], Picked>>();
  facets?.["frontMatter.tags"]?.[0]?.count.toFixed();

  const plain = await posts.first();
  hold<Same<"slug" extends keyof NonNullable<typeof plain> ? 1 : 0, 1>>();
  // @ts-expect-error: it was not asked for.
  plain?.frontMatter;
  // @ts-expect-error: it was not asked for.
  plain?.html;
  const [rich] = await posts.all({ includeHtml: true, includeHistory: true });
  hold<Same<NonNullable<typeof rich>["html"], string | undefined>>();
  rich?.lastChanged?.date.trim();
  // @ts-expect-error: it was not asked for.
  rich?.content;
  for await (const item of posts.items({ includeFrontMatter: true })) {
    hold<Same<typeof item.frontMatter, Post | undefined>>();
  }
  const isWanted: boolean = at.owner === "local";
  const maybe = await posts.first({ includeContent: isWanted });
  hold<Same<NonNullable<typeof maybe>["content"], string | undefined>>();
  const keys: ("slug" | "size")[] = ["slug"];
  const some = await posts.first({ fields: keys });
  hold<Same<NonNullable<typeof some>["slug"], string | undefined>>();

  const found = await posts.search("rye bread", { limit: 5 });
  hold<Same<(typeof found.items)[0]["match"], client.Match>>();
  const post = await posts.bySlug("a", { includeNeighbors: true });
  hold<Same<typeof post.frontMatter, Post | undefined>>();
  post.next?.frontMatter?.title.trim();
  // @ts-expect-error: it was not asked for.
  post.html;
  (await posts.get("posts/a.md", { includeHtml: true })).html?.trim();

  // @ts-expect-error: no such key of the front matter.
  void posts.list({ sort: "frontMatter.titel" });
  // @ts-expect-error: no such key of the front matter.
  void posts.list({ filter: { "frontMatter.titel": "a" } });
  // @ts-expect-error: front matter has a prefix.
  void posts.list({ filter: { title: "a" } });
  // @ts-expect-error: no such key of an item.
  void posts.list({ fields: ["title"] });
  // @ts-expect-error: no such key of the front matter.
  void posts.list({ facets: ["frontMatter.tag"] });
  // @ts-expect-error: no mapping.
  void posts.list({ sort: "frontMatter.title.x" });
  // @ts-expect-error: no such parameter.
  void posts.list({ includeHTML: true });
  // @ts-expect-error: no such parameter.
  void posts.bySlug("a", { slug: "b" });

  // Front matter without a type has every key.
  const untyped = client.collection(at);
  void untyped.list({ sort: "-frontMatter.a.b", fields: ["frontMatter.c"] });
  // @ts-expect-error: front matter has a prefix.
  void untyped.list({ sort: "title" });
  const schema = {} as client.Schema<Post>;
  const checked = await client.collection(at, { schema }).bySlug("a");
  hold<Same<typeof checked.frontMatter, Post | undefined>>();
  type Client = client.CollectionsClient<{ posts: Post }>;
  const known = client as unknown as Client;
  for (
    const handle of [
      known.collection("posts", at),
      known.collection({ ...at, collection: "posts" }),
    ]
  ) hold<Same<typeof handle, client.CollectionHandle<Post>>>();
}

Deno.test("CollectionHandle knows the keys of its front matter", () => {
  assertEquals(typeof typed, "function");
});
