// Builds the items of a page as JSON: names, addresses, content, front matter
// and HTML. Bytes are counted as they are written so that a response never
// exceeds its budget.

import { Buffer } from "node:buffer";
import type { ItemBody } from "../api/contract.ts";
import { itemPathProblem } from "../api/names.ts";
import { pageTooLarge } from "../errors.ts";
import { FileList, inPathOrder } from "../source/file_list.ts";
import { compileRule, type EntryRule } from "./declared.ts";
import { derivedText, type Missing } from "./derived.ts";
import { project } from "./fields.ts";
import { contentTypeOf, derivedKey, fileName, slugOf } from "./file_names.ts";
import { splitFenced, textOf } from "./file_text.ts";
import type { FrontMatter } from "./front_matter.ts";
import { areTextsOver } from "./json_size.ts";
import type { LfsPointer } from "./lfs_pointer.ts";
import {
  contentUrlOf,
  joinHtml,
  type LinkTargets,
  type Rendered,
  resolveAddress,
  webUrlOf,
} from "./rendered.ts";

/** One file of a page. What is known of it is added step by step. */
export interface DescribedFile {
  /** The path from the repository's root. */
  path: string;
  id: string;
  size: number;
  /** Its index in the list of files, which is in path order. */
  index?: number;
  /**
   * Set for a Git LFS pointer. Front matter then comes from the object and only
   * if the object is sent.
   */
  lfs?: LfsPointer;
  /** Why a search found it. */
  match?: ItemBody["match"];
  lastChanged?: ItemBody["lastChanged"];
  created?: ItemBody["created"];
  /** Its bytes where its content is sent. */
  bytes?: Uint8Array;
  /** Whether the front matter is sent. */
  frontMatter?: boolean;
  /** A `Rendered` as JSON. It is JSON null if the file is not text. */
  rendered?: Uint8Array;
  htmlError?: string;
  /** Why the content cannot be sent. */
  error?: ItemBody["error"];
}

export interface DescribeInput extends LinkTargets {
  repository: string;
  files: readonly DescribedFile[];
  /** The keys to send. Undefined sends all keys. */
  fields: readonly string[] | undefined;
  /**
   * The part of item paths before their slugs. Null for a file without a slug.
   */
  prefix: string | null;
  /**
   * The collection that links between items stay in. `prefix` is empty or ends
   * with a slash.
   */
  linked: {
    readonly prefix: string;
    readonly files: Uint8Array;
    readonly rule: EntryRule | undefined;
  } | null;
  /** The maximum number of bytes of JSON. */
  maxBytes: number;
  /** The maximum of every try. */
  mostBytes: number;
}

export interface Description {
  /**
   * The items with commas between them. Empty if they do not fit even without
   * their contents.
   */
  readonly json: Uint8Array<ArrayBuffer>;
  /** Whether some contents did not fit. */
  readonly isCut: boolean;
  /** The maximum that takes everything in. */
  readonly neededBytes: number;
}

/** Returns the `derivedKey` of what a file's front matter comes from. */
export const frontMatterKey = ({ path, id, lfs }: DescribedFile): string =>
  derivedKey({ path, id: lfs?.oid ?? id });

/**
 * Returns the items of a page. Contents use up the byte budget in byte order of
 * path.
 */
export function describe(input: DescribeInput): Description | Missing {
  const { repository, files, fields, maxBytes, mostBytes } = input;
  const texts = files.map((file) =>
    file.frontMatter && (!file.lfs || file.bytes)
      ? derivedText(repository, frontMatterKey(file))
      : "{}"
  );
  const missing = [...files.keys()].filter((index) =>
    texts[index] === undefined
  );
  if (missing.length > 0) return { missing };

  const projected = (item: Partial<ItemBody>) =>
    fields === undefined ? item : project(item, fields);
  const jsonOf = (item: Partial<ItemBody>) => JSON.stringify(projected(item));
  const items: string[] = [];
  let bytesLeft = maxBytes;
  for (const file of files) {
    const json = jsonOf(ownFields(file, input));
    bytesLeft -= Buffer.byteLength(json);
    if (bytesLeft < 0) {
      return { json: new Uint8Array(), isCut: true, neededBytes: Infinity };
    }
    items.push(json);
  }
  let isCut = false;
  let neededBytes = maxBytes - bytesLeft;
  const htmlOf = htmlJoiner(input);
  const inOrder = inPathOrder(
    files.map((file, index) => ({ file, index, path: file.path })),
  );
  for (const { index, file } of inOrder) {
    const frontMatter: FrontMatter = JSON.parse(texts[index]!);
    const contents = contentsOf(file, frontMatter, htmlOf);
    if (Object.keys(contents).length === 0) continue;
    const own = ownFields(file, input);
    const ownBytes = Buffer.byteLength(items[index]!);
    bytesLeft += ownBytes;
    const item = projected({ ...own, ...contents });
    const isOver = areTextsOver(item, mostBytes);
    let json = isOver ? "" : JSON.stringify(item);
    neededBytes += isOver ? Infinity : Buffer.byteLength(json) - ownBytes;
    if (isOver || Buffer.byteLength(json) > bytesLeft) {
      isCut = true;
      const { detail } = pageTooLarge(file.path, maxBytes);
      const error = { code: "page-too-large", detail } as const;
      json = jsonOf({ ...own, error });
    }
    bytesLeft -= Buffer.byteLength(json);
    items[index] = json;
  }
  return { json: joinedBytes(items), isCut, neededBytes };
}

/**
 * Returns the texts in UTF-8 with commas between them. A joined text would take
 * as much memory again.
 */
function joinedBytes(texts: readonly string[]): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(
    texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) +
      Math.max(0, texts.length - 1),
  );
  let at = 0;
  for (const text of texts) {
    if (at > 0) bytes[at++] = 0x2c;
    at += encoder.encodeInto(text, bytes.subarray(at)).written;
  }
  return bytes;
}

/** The fields of a file that need none of its bytes. */
function ownFields(
  { path, id, size, lfs, match, lastChanged, created }: DescribedFile,
  input: DescribeInput,
): Partial<ItemBody> {
  const { prefix } = input;
  const name = fileName(path);
  return {
    name,
    path,
    ...(prefix !== null && { slug: slugOf(path.slice(prefix.length)) }),
    sha: id,
    size: lfs?.size ?? size,
    lfs,
    contentType: contentTypeOf(name),
    contentUrl: itemPathProblem(path) === null
      ? contentUrlOf(path, input)
      : undefined,
    htmlUrl: webUrlOf(path, input) ?? undefined,
    lastChanged,
    created,
    match,
  };
}

/** Returns the loaded fields in the order of the response. */
function contentsOf(
  file: DescribedFile,
  frontMatter: FrontMatter,
  htmlOf: (file: DescribedFile) => Partial<ItemBody>,
): Partial<ItemBody> {
  const { bytes, error } = file;
  if (error !== undefined) return { error, ...frontMatter };
  const html = htmlOf(file);
  if (bytes === undefined) return { ...html, ...frontMatter };
  const text = textOf(bytes);
  if (text === null) {
    return { encoding: "base64", content: bytes.toBase64(), ...html };
  }
  // `body` is omitted unless the front matter parses.
  const body = frontMatter.frontMatter && splitFenced(text).body;
  return { encoding: "utf-8", content: text, ...frontMatter, body, ...html };
}

/** Returns a function that makes the fields of `includeHtml`. */
function htmlJoiner(input: DescribeInput) {
  const { linked } = input;
  const files = linked && new FileList(linked.files);
  const accepts = compileRule(linked?.rule);
  const itemSlugOf = (path: string) => {
    if (linked === null || files === null || !path.startsWith(linked.prefix)) {
      return null;
    }
    const inside = path.slice(linked.prefix.length);
    return files.indexOf(inside) >= 0 && accepts(inside)
      ? slugOf(inside)
      : null;
  };
  const targets = { ...input, slugOf: itemSlugOf };
  return (
    { path, rendered: json, htmlError }: DescribedFile,
  ): Partial<ItemBody> => {
    if (htmlError !== undefined) return { htmlError: { message: htmlError } };
    const rendered: Rendered | null = json
      ? JSON.parse(new TextDecoder().decode(json))
      : null;
    if (rendered === null) return {};
    const { headings, excerpt, words, mdxComponents } = rendered;
    try {
      const html = joinHtml(
        rendered,
        (address) => resolveAddress(address, path, targets),
      );
      return { html, headings, excerpt, words, mdxComponents };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return { htmlError: { message: "The file's HTML is too large." } };
    }
  };
}
