// Decides which keys of an item a list sends and what they need. `fields` names
// the keys. If it is missing, the `include…` parameters decide.

import type { ItemBody } from "../api/contract.ts";
import {
  getOwn,
  isPlainObject,
  parseFrontMatterKey,
  type PlainObject,
} from "./plain_value.ts";

/** What has to be loaded from an item's file. */
export type ItemNeeds = Readonly<
  Record<"content" | "frontMatter" | "html", boolean>
>;

/**
 * The keys of an item by what they need. `error` needs nothing because it
 * reports a failure of whatever is loaded.
 */
const NEEDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    nothing: "name path slug sha size lfs contentType contentUrl htmlUrl error",
    content: "encoding content body",
    frontMatter: "frontMatter frontMatterError",
    html: "html headings excerpt words htmlError",
  }).flatMap(([need, keys]) => keys.split(" ").map((key) => [key, need])),
);
/** Keys that report a failure are sent with the keys that they concern. */
const ERROR_KEYS = ["error", "htmlError", "frontMatterError"];

const MAX_FIELDS = 50;
const MAX_FACETS = 5;

/**
 * Returns the keys of a comma-separated list, sorted and without duplicates.
 * @throws {SyntaxError} if there are too many or one is not a key of an item.
 */
export function parseFields(text: string): string[] {
  const fields = [...new Set(text.split(","))].sort();
  if (fields.length > MAX_FIELDS) {
    throw new SyntaxError(`must be at most ${MAX_FIELDS} keys`);
  }
  if (fields.every((field) => NEEDS.has(field) || parseFrontMatterKey(field))) {
    return fields;
  }
  const keys = [...NEEDS.keys()].join(", ");
  throw new SyntaxError(
    `must be comma-separated keys of an item: ${keys} or frontMatter.<key>`,
  );
}

/**
 * Returns the keys of a comma-separated list of facets, sorted and without
 * duplicates.
 * @throws {SyntaxError} if there are too many or one is not a front matter key.
 */
export function parseFacets(text: string): string[] {
  const facets = [...new Set(text.split(","))].sort();
  if (facets.length <= MAX_FACETS && facets.every(parseFrontMatterKey)) {
    return facets;
  }
  throw new SyntaxError(
    `must be at most ${MAX_FACETS} comma-separated frontMatter.<key>`,
  );
}

/** Returns what the items of a list need for these parameters. */
export function needsOf(
  {
    fields,
    includeContent = false,
    includeFrontMatter = false,
    includeHtml = false,
  }:
    & { readonly fields?: readonly string[] | undefined }
    & {
      readonly [Key in "Content" | "FrontMatter" | "Html" as `include${Key}`]?:
        | boolean
        | undefined;
    },
): ItemNeeds {
  const needs = fields?.map(needOf);
  return {
    content: needs?.includes("content") ?? includeContent,
    frontMatter: needs?.includes("frontMatter") ??
      (includeContent || includeFrontMatter),
    html: needs?.includes("html") ?? includeHtml,
  };
}

/** Returns the item with only these keys in the item's own order. */
export function project(
  item: Partial<ItemBody>,
  fields: readonly string[],
): Partial<ItemBody> {
  const needs = ["nothing", ...fields.map(needOf)];
  const inner = fields.map(parseFrontMatterKey).filter((keys) => keys !== null);
  const projected: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(item)) {
    if (
      fields.includes(key) ||
      (ERROR_KEYS.includes(key) && needs.includes(needOf(key)))
    ) {
      projected[key] = value;
    } else if (key === "frontMatter" && inner.length > 0) {
      projected[key] = pick(value as PlainObject, inner);
    }
  }
  return projected;
}

/** Keys below `frontMatter` are not in the table. */
function needOf(field: string): string {
  return NEEDS.get(field) ?? "frontMatter";
}

/** Returns the named values of front matter with their nesting. */
function pick(
  frontMatter: PlainObject,
  fields: readonly (readonly string[])[],
): PlainObject {
  const picked = Map.groupBy(fields, ([key]) => key!).entries().map(
    ([key, below]) => {
      const value = getOwn(frontMatter, key);
      if (below.some(({ length }) => length === 1)) {
        return [key, value] as const;
      }
      const inner = isPlainObject(value)
        ? pick(value, below.map((keys) => keys.slice(1)))
        : {};
      return [key, Object.keys(inner).length > 0 ? inner : undefined] as const;
    },
  );
  return Object.fromEntries(
    picked.filter(([, value]) => value !== undefined),
  ) as PlainObject;
}
