// What a page says of its files beside their names: content, front matter, HTML. Each file becomes a piece of JSON, which
// the serving thread sends as it is. Bytes are counted as they are written, so that an answer never outgrows its budget.

import type { ItemBody } from "../api/contract.ts";
import { encodePath } from "../api/names.ts";
import { pageTooLarge } from "../errors.ts";
import { FileList } from "../source/file_list.ts";
import { compileRule, type EntryRule } from "./declared.ts";
import { derivedText } from "./derived.ts";
import { project } from "./fields.ts";
import { slugOf } from "./file_names.ts";
import { textOf } from "./file_text.ts";
import { bodyOf, type FrontMatter } from "./front_matter.ts";
import { addressResolver, joinHtml, type Rendered } from "./rendered.ts";

/** One file of a page. */
export interface DescribedFile {
  readonly path: string;
  readonly id: string;
  /** Its bytes where its content is sent. */
  readonly bytes: Uint8Array | null;
  /** Whether its front matter is sent, which has been derived. */
  readonly frontMatter: boolean;
  /** A `Rendered` as JSON, or null as JSON for bytes that are no text; null where no HTML is sent. */
  readonly rendered: Uint8Array | null;
  readonly htmlError: string | undefined;
  /** Why its content cannot be given. */
  readonly error: ItemBody["error"] | undefined;
}

/** Where links and images of the files lead. */
export interface LinkTargets {
  /** The address of a file's content up to its path. */
  readonly contentUrlStart: string;
  /** The address of a file's web page up to its path; null where the source has no web pages. */
  readonly webUrlStart: string | null;
  readonly linkTemplate: string | null;
  /** The collection that links between items stay in. */
  readonly collection: {
    /** Empty, or with a slash at its end. */
    readonly prefix: string;
    readonly files: Uint8Array;
    readonly rule: EntryRule | undefined;
  } | null;
}

export interface DescribeInput {
  readonly repository: string;
  /** In the order in which they get their part of the budget. */
  readonly files: readonly DescribedFile[];
  /** The keys that are sent; all where it is left out. "frontMatter" is that alone, without any error. */
  readonly fields: readonly string[] | "frontMatter" | undefined;
  readonly targets: LinkTargets;
  /** The bytes of JSON that may be written. */
  readonly maxBytes: number;
}

/** Properties of one item as JSON, each after a comma; `isCut` where its content did not fit. */
export interface DescribedPart {
  readonly json: Uint8Array<ArrayBuffer>;
  readonly isCut: boolean;
}

/** One part for each file; null where front matter has to be derived again. */
export function describe(
  { repository, files, fields, targets, maxBytes }: DescribeInput,
): DescribedPart[] | null {
  const join = htmlJoiner(targets);
  const parts: DescribedPart[] = [];
  let bytesLeft = maxBytes;
  for (const file of files) {
    const derived = file.frontMatter ? derivedText(repository, file.id) : "{}";
    if (derived === undefined) return null;
    const frontMatter: FrontMatter = JSON.parse(derived);
    const whole = jsonOf(itemOf(file, frontMatter, join), fields, bytesLeft);
    const json = whole ?? cutJson(file.path, frontMatter, { fields, maxBytes, bytesLeft });
    bytesLeft -= json.length;
    parts.push({ json, isCut: whole === null });
  }
  return parts;
}

/** The keys of an item in the order in which they are sent. */
function itemOf(file: DescribedFile, frontMatter: FrontMatter, join: Joiner): Partial<ItemBody> {
  const { bytes, error } = file;
  if (error !== undefined) return { error, ...frontMatter };
  const html = htmlOf(file, join);
  if (bytes === null) return { ...html, ...frontMatter };
  const text = textOf(bytes);
  const content = text === null
    ? { encoding: "base64", content: bytes.toBase64() } as const
    : { encoding: "utf-8", content: text } as const;
  // Front matter that does not parse leaves the body out.
  const body = text === null || frontMatter.frontMatter === undefined ? {} : { body: bodyOf(text) };
  return { ...content, ...frontMatter, ...body, ...html };
}

/** Properties of an item, each after a comma; null where they have more than `maxBytes`. */
function jsonOf(
  item: Partial<ItemBody>,
  fields: DescribeInput["fields"],
  maxBytes: number,
): Uint8Array<ArrayBuffer> | null {
  const sent = fields === undefined
    ? item
    : fields === "frontMatter"
    ? { frontMatter: item.frontMatter }
    : project(item, fields);
  const text = JSON.stringify(sent);
  if (text.length > maxBytes) return null;
  const bytes = new TextEncoder().encode(text === "{}" ? "" : `,${text.slice(1, -1)}`);
  return bytes.length > maxBytes ? null : bytes;
}

/** An item whose contents do not fit, with its front matter where that does. */
function cutJson(
  path: string,
  frontMatter: FrontMatter,
  { fields, maxBytes, bytesLeft }: Pick<DescribeInput, "fields" | "maxBytes"> & {
    bytesLeft: number;
  },
): Uint8Array<ArrayBuffer> {
  const { detail } = pageTooLarge(path, maxBytes);
  const error = { code: "page-too-large", detail } as const;
  return jsonOf({ error, ...frontMatter }, fields, bytesLeft) ??
    jsonOf({ error }, fields, Infinity)!;
}

type Joiner = (rendered: Rendered, path: string) => string;

/** What `includeHtml` adds to a file. */
function htmlOf({ htmlError, path, rendered: json }: DescribedFile, join: Joiner) {
  if (htmlError !== undefined) return { htmlError: { message: htmlError } };
  const rendered: Rendered | null = json && JSON.parse(new TextDecoder().decode(json));
  if (rendered === null) return {};
  const { headings, excerpt, words } = rendered;
  try {
    return { html: join(rendered, path), headings, excerpt, words };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { htmlError: { message: "The file's HTML is too large." } };
  }
}

/** Gives the HTML of files. Made once for a page, since its files link to the same places. */
function htmlJoiner(targets: LinkTargets): Joiner {
  const { collection, contentUrlStart, linkTemplate, webUrlStart } = targets;
  const files = collection && new FileList(collection.files);
  const accepts = compileRule(collection?.rule);
  const contentUrl = (path: string) => contentUrlStart + encodeURIComponent(path);
  const of = {
    linkTemplate,
    contentUrl,
    rawUrl: (path: string) => `${contentUrl(path)}&format=raw`,
    htmlUrl: (path: string) => webUrlStart && webUrlStart + encodePath(path),
    slugOf(path: string) {
      if (collection === null || files === null || !path.startsWith(collection.prefix)) return null;
      const inside = path.slice(collection.prefix.length);
      return files.indexOf(inside) >= 0 && accepts(inside) ? slugOf(inside) : null;
    },
  };
  /** Addresses as they are written in the files of each folder. */
  const writtenIn = new Map<string, Map<string, string>>();
  return (rendered, path) => {
    const folder = path.slice(0, path.lastIndexOf("/") + 1);
    const written = writtenIn.get(folder) ?? new Map<string, string>();
    writtenIn.set(folder, written);
    return joinHtml(rendered, addressResolver({ ...of, filePath: path }), written);
  };
}
