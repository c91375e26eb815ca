// A body that is ready to be sent, with its validators; made once, sent often.

import { gzip } from "node:zlib";
import { promisify } from "node:util";
import { eTag } from "@std/http";
import { gzipTag } from "./conditional.ts";

/** One coding of a body. */
export interface CodedBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/** What a route gives: bytes, their type, and headers that belong to them alone. */
export interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** See the head of this file. `gzip` comes a little later, and only where it is smaller. */
export interface ReadyBody {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly identity: CodedBody;
  gzip: CodedBody | null;
}

const MIN_GZIP_BYTES = 1024;
const COMPRESSIBLE = /^text\/|json|xml|javascript|toml|yaml|image\/svg/;
const gzipOffThread = promisify(gzip);

/** JSON as {@linkcode Content}. */
export function jsonContent(
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Content {
  return {
    bytes: new TextEncoder().encode(JSON.stringify(value)),
    contentType: "application/json",
    headers,
  };
}

/** Makes a body ready: its strong tag is a digest of its bytes. */
export async function readyBody({ bytes, contentType, headers }: Content): Promise<ReadyBody> {
  const etag = await eTag(bytes);
  if (etag === undefined) throw new Error(`Cannot tag "${contentType}": no digest`);
  return { contentType, headers: headers ?? {}, identity: { bytes, etag }, gzip: null };
}

/** Adds the gzip coding; runs off the event loop's thread. Resolves to the bytes that it takes, 0 where it is not worth it. */
export async function addGzip(body: ReadyBody): Promise<number> {
  const { bytes, etag } = body.identity;
  if (bytes.length < MIN_GZIP_BYTES || !COMPRESSIBLE.test(body.contentType)) return 0;
  const packed = await gzipOffThread(bytes, { level: 6 });
  if (packed.length >= bytes.length) return 0;
  // A copy: Node's buffer may be a view of a larger pool.
  body.gzip = { bytes: new Uint8Array(packed), etag: gzipTag(etag) };
  return packed.length;
}
