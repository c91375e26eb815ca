// Which keys of an item a list sends, and what has to be read for them. `fields` names them; without it the `include…`
// parameters decide.

import type { ItemBody } from "../api/contract.ts";
import { getOwn, isPlainObject, parseFrontMatterKey, type PlainObject } from "./plain_value.ts";

/** What has to be read of an item's file. */
export type ItemNeeds = Readonly<Record<"content" | "frontMatter" | "html", boolean>>;

/** The keys of an item by what they need; `error` is of whatever is read. */
const NEEDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    nothing: "name path slug sha size lfs contentType contentUrl htmlUrl error",
    content: "encoding content body",
    frontMatter: "frontMatter frontMatterError",
    html: "html headings excerpt words htmlError",
  }).flatMap(([need, keys]) => keys.split(" ").map((key) => [key, need])),
);
/** The keys that report a failure are sent wherever a key is that they are about. */
const ERROR_KEYS = ["error", "htmlError", "frontMatterError"];

const MAX_FIELDS = 50;
const MAX_FACETS = 5;

/** The keys of a comma-separated list, each once and sorted. @throws {SyntaxError} for what is no key of an item. */
export function parseFields(text: string): string[] {
  const fields = [...new Set(text.split(","))].sort();
  if (fields.length > MAX_FIELDS) throw new SyntaxError(`must be at most ${MAX_FIELDS} keys`);
  if (fields.every((field) => NEEDS.has(field) || parseFrontMatterKey(field))) return fields;
  const keys = [...NEEDS.keys()].join(", ");
  throw new SyntaxError(`must be comma-separated keys of an item: ${keys} or frontMatter.<key>`);
}

/** The keys of a comma-separated list of facets, each once and sorted. @throws {SyntaxError} for anything else. */
export function parseFacets(text: string): string[] {
  const facets = [...new Set(text.split(","))].sort();
  if (facets.length <= MAX_FACETS && facets.every(parseFrontMatterKey)) return facets;
  throw new SyntaxError(`must be at most ${MAX_FACETS} comma-separated frontMatter.<key>`);
}

/** What a list's items need by its parameters. */
export function needsOf(
  { fields, includeContent = false, includeFrontMatter = false, includeHtml = false }:
    & { readonly fields?: readonly string[] | undefined }
    & {
      readonly [Key in "Content" | "FrontMatter" | "Html" as `include${Key}`]?: boolean | undefined;
    },
): ItemNeeds {
  const needs = fields?.map(needOf);
  return {
    content: needs?.includes("content") ?? includeContent,
    frontMatter: needs?.includes("frontMatter") ?? (includeContent || includeFrontMatter),
    html: needs?.includes("html") ?? includeHtml,
  };
}

/** The item with these keys alone, in the item's own order. */
export function project(item: Partial<ItemBody>, fields: readonly string[]): Partial<ItemBody> {
  const needs = ["nothing", ...fields.map(needOf)];
  const inner = fields.map(parseFrontMatterKey).filter((keys) => keys !== null);
  const projected: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(item)) {
    if (fields.includes(key) || (ERROR_KEYS.includes(key) && needs.includes(needOf(key)))) {
      projected[key] = value;
    } else if (key === "frontMatter" && inner.length > 0) {
      projected[key] = pick(value as PlainObject, inner);
    }
  }
  return projected;
}

/** A key of front matter needs front matter. */
function needOf(field: string): string {
  return NEEDS.get(field) ?? "frontMatter";
}

/** The named values of front matter, nested as they are. */
function pick(frontMatter: PlainObject, fields: readonly (readonly string[])[]): PlainObject {
  const picked = Map.groupBy(fields, ([key]) => key!).entries().map(([key, below]) => {
    const value = getOwn(frontMatter, key);
    if (below.some(({ length }) => length === 1)) return [key, value] as const;
    const inner = isPlainObject(value) ? pick(value, below.map((keys) => keys.slice(1))) : {};
    return [key, Object.keys(inner).length > 0 ? inner : undefined] as const;
  });
  return Object.fromEntries(picked.filter(([, value]) => value !== undefined)) as PlainObject;
}
