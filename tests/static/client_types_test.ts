// The client's types, which the service uses too, are those of the OpenAPI document: a field that one side has and the
// other has not, or of another type, does not compile here. What runs is only that the file was checked at all.

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

/** A type with its parts spelled out, so that interfaces and intersections compare by their parts. */
type Flat<T> = T extends readonly (infer E)[] ? Flat<E>[]
  : T extends object ? { [K in keyof T]: Flat<T[K]> }
  : T;

/** True only where both are the same, optional parts too: assignable both ways would let those differ. */
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
  // The client writes filters as an object and lists of keys as they are sent, and requests JSON only.
  type Own = "filter" | "kind" | "fields" | "facets";
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
