// Decides which keys of an item a list sends and what they need. `fields` names
// the keys. If it is missing, the `include…` parameters decide.

import type { ItemBody } from "../api/contract.ts";
import { type Kind, KINDS } from "./file_names.ts";
import { parseItemKey, type PlainObject, readItemKey } from "./plain_value.ts";

/** What has to be loaded from an item's file. */
export type ItemNeeds = Readonly<
  Record<"content" | "frontMatter" | "html" | "history", boolean>
>;

/**
 * The keys of an item by what they need. `error` needs nothing because it
 * reports a failure of whatever is loaded.
 */
const NEEDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    nothing:
      "name path slug sha size lfs contentType contentUrl htmlUrl match " +
      "error index key",
    content: "encoding content body",
    frontMatter: "frontMatter frontMatterError data",
    html: "html headings excerpt words mdxComponents htmlError",
    history: "lastChanged",
  }).flatMap(([need, keys]) => keys.split(" ").map((key) => [key, need])),
);
/** Keys that report a failure are sent with the keys that they concern. */
const ERROR_KEYS = ["error", "htmlError", "frontMatterError"];

/** The fields of which a feed makes an entry. */
export const FEED_FIELDS = [
  ...["excerpt", "html", "path", "slug"],
  ...["date", "description", "pubDate", "title", "updated"].map((key) =>
    `frontMatter.${key}`
  ),
];

const MAX_FIELDS = 50;
const MAX_FACETS = 5;

/** Returns the names of a comma-separated list without duplicates. */
const namesIn = (text: string) => [...new Set(text.split(","))].sort();

/**
 * Returns the keys of a comma-separated list, sorted and without duplicates.
 * @throws {SyntaxError} if there are too many or one is not a key of an item.
 */
export function parseFields(text: string): string[] {
  const fields = namesIn(text);
  if (fields.length > MAX_FIELDS) {
    throw new SyntaxError(`must be at most ${MAX_FIELDS} keys`);
  }
  if (fields.every((field) => NEEDS.has(field) || parseItemKey(field))) {
    return fields;
  }
  const keys = [...NEEDS.keys()].join(", ");
  throw new SyntaxError(
    `must be comma-separated keys of an item: ${keys}, ` +
      "frontMatter.<key> or data.<key>",
  );
}

/**
 * Returns the keys of a comma-separated list of facets, sorted and without
 * duplicates.
 * @throws {SyntaxError} if there are too many or one is not a front matter key.
 */
export function parseFacets(text: string): string[] {
  const facets = namesIn(text);
  if (facets.length <= MAX_FACETS && facets.every(parseItemKey)) {
    return facets;
  }
  throw new SyntaxError(
    `must be at most ${MAX_FACETS} comma-separated frontMatter.<key> or ` +
      "data.<key>",
  );
}

/**
 * Returns the kinds of a comma-separated list, sorted and without duplicates.
 * @throws {SyntaxError} if one is unknown.
 */
export function parseKinds(text: string): Kind[] {
  const kinds = namesIn(text);
  const isKind = (kind: string): kind is Kind =>
    KINDS.some((one) => one === kind);
  if (kinds.every(isKind)) return kinds;
  throw new SyntaxError(`must be comma-separated: ${KINDS.join(", ")}`);
}

/**
 * Returns what the items of a list need for these parameters. A parameter that
 * is not valid has no effect.
 */
export function needsOf(
  { fields, includeContent, includeFrontMatter, includeHtml, includeHistory }:
    Partial<
      Record<
        "fields" | `include${"Content" | "FrontMatter" | "Html" | "History"}`,
        unknown
      >
    >,
): ItemNeeds {
  const needs = Array.isArray(fields) ? fields.map(needOf) : null;
  return {
    content: needs?.includes("content") ?? includeContent === true,
    frontMatter: needs?.includes("frontMatter") ??
      (includeContent === true || includeFrontMatter === true),
    html: needs?.includes("html") ?? includeHtml === true,
    history: needs?.includes("history") ?? includeHistory === true,
  };
}

/** Returns the item with only these keys in the item's own order. */
export function project(
  item: Partial<ItemBody>,
  fields: readonly string[],
): Partial<ItemBody> {
  const needs = ["nothing", ...fields.map(needOf)];
  const inner = fields.map(parseItemKey).filter((keys) => keys !== null);
  const picked = pick(item as PlainObject, inner);
  const projected: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(item)) {
    if (
      fields.includes(key) ||
      (ERROR_KEYS.includes(key) && needs.includes(needOf(key)))
    ) {
      projected[key] = value;
    } else if (inner.some(([first]) => first === key)) {
      projected[key] = picked[key] ?? {};
    }
  }
  return projected;
}

/** Keys below `frontMatter` are not in the table. */
function needOf(field: string): string {
  return NEEDS.get(field) ?? "frontMatter";
}

/**
 * Returns the named values with their nesting. The keys are sorted, so a value
 * comes before the values inside it.
 */
function pick(
  item: PlainObject,
  fields: readonly (readonly string[])[],
): PlainObject {
  const newObject = (): PlainObject => Object.create(null);
  const picked = newObject();
  for (const keys of fields) {
    const value = readItemKey(item, keys);
    if (value === undefined) continue;
    let parent = picked;
    for (const key of keys.slice(0, -1)) {
      parent = (parent[key] ??= newObject()) as PlainObject;
    }
    parent[keys.at(-1)!] = value;
  }
  return picked;
}
