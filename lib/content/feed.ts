// Writes feeds and sitemaps of a collection. Texts come from files, so a
// character that XML cannot contain is replaced.

import { Feed, type Item } from "feed";
import type { ItemBody } from "../api/contract.ts";
import type { FEED_TYPES } from "../api/feed_formats.ts";
import { encodePath } from "../api/names.ts";
import { collectionTooLarge } from "../errors.ts";
import { FileList } from "../source/file_list.ts";
import { slugOf } from "./file_names.ts";
import { getOwn, type PlainObject } from "./plain_value.ts";
import { datesOf, parseDate } from "./entry_dates.ts";

interface Target {
  /** The name of the collection for errors. */
  readonly collection: string;
  /** An absolute URL with `{slug}`. */
  readonly linkTemplate: string;
  readonly maxBytes: number;
}

export interface FeedInput extends Target {
  readonly format: Exclude<keyof typeof FEED_TYPES, "sitemap">;
  /** The items as JSON with commas between them. */
  readonly items: Uint8Array<ArrayBuffer>;
  readonly title: string;
  readonly author: string;
  /** The URL of the feed. */
  readonly self: string;
  /** The ids of the feed and of entries before their paths. */
  readonly idStart: string;
  /** When files last changed, by path. Absent if nobody asked yet. */
  readonly dates?: ReadonlyMap<string, string>;
}

/** The indices of entries without a date. */
export interface Undated {
  readonly undated: readonly number[];
}

export interface SitemapInput extends Target {
  readonly files: Uint8Array;
  readonly indices: Uint32Array;
  /** When the files last changed, where that is known. */
  readonly dates: readonly (string | undefined)[];
}

/**
 * Returns a feed in UTF-8. It depends on the input only, so its ETag lasts.
 * @throws {CollectionsError} collection-too-large.
 */
export function writeFeed(
  input: FeedInput,
): Uint8Array<ArrayBuffer> | Undated {
  const { format, linkTemplate, title, self, idStart, dates } = input;
  const undated: number[] = [];
  const isJson = format === "jsonfeed";
  const items: Partial<ItemBody>[] = JSON.parse(
    `[${new TextDecoder().decode(input.items)}]`,
  );
  // `feed` escapes text in elements but not in CDATA, which holds HTML.
  const asHtml = (text: string) => isJson ? text : escapeXml(cleanForXml(text));
  const entries = items.map((item, index): Item => {
    const { path = "", slug = "", excerpt = "", html = "" } = item;
    const data = (item.frontMatter ?? {}) as PlainObject;
    const { published, updated } = datesOf(item as PlainObject);
    const modified = updated ?? published ?? parseDate(dates?.get(path));
    if (modified === undefined) undated.push(index);
    const description = getOwn(data, "description");
    const own = getOwn(data, "title") ?? "";
    const entry = {
      title: asHtml(typeof own === "object" || own === "" ? slug : `${own}`),
      id: idStart + encodePath(path),
      link: linkOf(linkTemplate, slug),
      description: asHtml(
        typeof description === "string" ? description : excerpt,
      ),
      // `feed` splits only the first end of a CDATA section.
      content: isJson ? html : cleanForXml(html).replaceAll("]]>", "]]&gt;"),
      // Atom requires a date.
      date: modified ?? (format === "atom" ? new Date(0) : undefined),
      published,
    };
    return entry as Item;
  });
  if (!dates && undated.length > 0) return { undated };
  const feed = new Feed({
    // `feed` takes `&amp;` in text for an ampersand.
    title: isJson ? title : cleanForXml(title).replaceAll("&", "&amp;"),
    id: idStart + encodePath(input.collection),
    link: new URL(".", linkTemplate.split("{slug}")[0]).href,
    feedLinks: { [format === "jsonfeed" ? "json" : format]: self },
    author: { name: input.author },
    generator: false,
    updated: new Date(
      entries.reduce((last, { date }) => Math.max(last, Number(date ?? 0)), 0),
    ),
  });
  entries.forEach((entry) => feed.addItem(entry));
  const write = { atom: "atom1", rss: "rss2", jsonfeed: "json1" } as const;
  return bytesOf(feed[write[format]](), input);
}

/**
 * Returns a sitemap (sitemaps.org) in UTF-8.
 * @throws {CollectionsError} collection-too-large.
 */
export function writeSitemap(input: SitemapInput): Uint8Array<ArrayBuffer> {
  const files = new FileList(input.files);
  const urls = new Map<string, string>();
  let chars = 0;
  for (const [position, index] of input.indices.entries()) {
    const link = linkOf(input.linkTemplate, slugOf(files.pathAt(index)));
    const date = input.dates[position];
    const changed = date ? `<lastmod>${date}</lastmod>` : "";
    const url = `<url><loc>${escapeXml(link)}</loc>${changed}</url>\n`;
    if (!urls.has(link)) chars += url.length;
    if (chars > input.maxBytes) throw tooLarge(input);
    urls.set(link, url);
  }
  const text = `<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${[...urls.values()].join("")}</urlset>
`;
  return bytesOf(text, input);
}

function bytesOf(text: string, target: Target): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > target.maxBytes) throw tooLarge(target);
  return bytes;
}

function tooLarge({ collection, maxBytes }: Target) {
  const why = `the answer has more than ${maxBytes} bytes`;
  return collectionTooLarge(collection, why);
}

function linkOf(template: string, slug: string): string {
  return new URL(template.replace("{slug}", () => encodePath(slug))).href;
}

/** Replaces what XML 1.0 cannot contain (2.2). */
function cleanForXml(text: string): string {
  return text.replace(
    /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu,
    "\ufffd",
  );
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
