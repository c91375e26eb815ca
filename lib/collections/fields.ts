// Which keys of an item a list sends, and what has to be read for them. `fields` names them; without it the `include…`
// parameters decide.

import type { ItemBody } from "../api/contract.ts";
import {
  getOwn,
  isPlainObject,
  parseFrontMatterKey,
  type PlainObject,
  readFrontMatterKey,
  setOwn,
} from "./plain_data.ts";

/** What has to be read of an item's file. */
export interface ItemNeeds {
  readonly content: boolean;
  readonly frontMatter: boolean;
  readonly html: boolean;
}

/** What each key of an item needs; `error` is of whatever is read. */
const NEEDS: Readonly<Record<keyof ItemBody, keyof ItemNeeds | null>> = {
  name: null,
  path: null,
  slug: null,
  sha: null,
  size: null,
  contentType: null,
  contentUrl: null,
  htmlUrl: null,
  error: null,
  encoding: "content",
  content: "content",
  body: "content",
  frontMatter: "frontMatter",
  frontMatterError: "frontMatter",
  html: "html",
  headings: "html",
  excerpt: "html",
  words: "html",
  htmlError: "html",
};

/** The keys that report a failure are sent wherever the key that they are about is. */
const ERROR_KEYS = { error: null, htmlError: "html", frontMatterError: "frontMatter" } as const;
const MAX_FIELDS = 50;

/** The keys of a comma-separated list, each once and sorted. @throws {SyntaxError} for what is no key of an item. */
export function parseFields(text: string): string[] {
  const fields = [...new Set(text.split(","))].sort();
  if (fields.length > MAX_FIELDS) throw new SyntaxError(`must be at most ${MAX_FIELDS} keys`);
  for (const field of fields) {
    if (!Object.hasOwn(NEEDS, field) && parseFrontMatterKey(field) === null) {
      throw new SyntaxError(
        `must be comma-separated keys of an item: ${
          Object.keys(NEEDS).join(", ")
        } or frontMatter.<key>`,
      );
    }
  }
  return fields;
}

/** The keys of a comma-separated list of facets, each once and sorted. @throws {SyntaxError} for anything else. */
export function parseFacets(text: string): string[] {
  const facets = [...new Set(text.split(","))].sort();
  if (facets.length > 5 || facets.some((facet) => parseFrontMatterKey(facet) === null)) {
    throw new SyntaxError("must be at most 5 comma-separated frontMatter.<key>");
  }
  return facets;
}

/** What a list's items need by its parameters. */
export function needsOf(
  { fields, includeContent = false, includeFrontMatter = false, includeHtml = false }: {
    readonly fields?: readonly string[] | undefined;
    readonly includeContent?: boolean | undefined;
    readonly includeFrontMatter?: boolean | undefined;
    readonly includeHtml?: boolean | undefined;
  },
): ItemNeeds {
  if (fields === undefined) {
    const frontMatter = includeContent || includeFrontMatter;
    return { content: includeContent, frontMatter, html: includeHtml };
  }
  const named = new Set(fields.map(needOf));
  return {
    content: named.has("content"),
    frontMatter: named.has("frontMatter"),
    html: named.has("html"),
  };
}

/** The item with these keys alone, in the item's own order. */
export function project(item: ItemBody, fields: readonly string[]): Partial<ItemBody> {
  const named = new Set(fields);
  const needs = new Set<string | null>([null, ...fields.map(needOf)]);
  const entries = Object.entries(item).flatMap(([key, value]): [string, unknown][] => {
    if (named.has(key)) return [[key, value]];
    if (Object.hasOwn(ERROR_KEYS, key)) {
      return needs.has(ERROR_KEYS[key as keyof typeof ERROR_KEYS]) ? [[key, value]] : [];
    }
    const isPicked = key === "frontMatter" &&
      fields.some((field) => field.startsWith("frontMatter."));
    return isPicked ? [[key, pick(value as PlainObject, fields)]] : [];
  });
  return Object.fromEntries(entries);
}

function needOf(field: string): keyof ItemNeeds | null {
  return Object.hasOwn(NEEDS, field) ? NEEDS[field as keyof ItemBody] : "frontMatter";
}

/** The named keys of front matter, nested as they are. */
function pick(frontMatter: PlainObject, fields: readonly string[]): PlainObject {
  const picked: PlainObject = {};
  for (const field of fields) {
    const keys = parseFrontMatterKey(field);
    const value = keys === null ? undefined : readFrontMatterKey(frontMatter, keys);
    if (keys === null || value === undefined) continue;
    let place = picked;
    for (const key of keys.slice(0, -1)) {
      const next = getOwn(place, key);
      const inner = isPlainObject(next) ? next : {};
      setOwn(place, key, inner);
      place = inner;
    }
    setOwn(place, keys.at(-1)!, value);
  }
  return picked;
}
