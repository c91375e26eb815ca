// A body that is ready to be sent, with its validators; made once, sent often.

import { createGzip } from "node:zlib";
import { eTag } from "@std/http";
import { gzipTag } from "./conditional.ts";
import { COMMON_HEADERS } from "./common_headers.ts";

/** One coding of a body, with the headers that every 200 with it has. */
export interface CodedBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
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
  /** Headers of every answer with this body, 304 among them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly identity: CodedBody;
  gzip: CodedBody | null;
}

const MIN_GZIP_BYTES = 1024;
const COMPRESSIBLE = /^text\/|json|xml|javascript|toml|yaml|image\/svg/;
/** What is compressed in one go; the event loop gets a turn between two. */
const SLICE_BYTES = 64 * 1024;

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
  const common = { ...COMMON_HEADERS, ...headers, vary: "Accept-Encoding" };
  const identity = {
    bytes,
    etag,
    headers: {
      ...common,
      etag,
      "content-type": contentType,
      "content-length": String(bytes.length),
    },
  };
  return { contentType, headers: common, identity, gzip: null };
}

/** Adds the gzip coding, in slices and not on any request's path. Resolves to the bytes that it takes, 0 where it is not worth it. */
export async function addGzip(body: ReadyBody): Promise<number> {
  const { bytes, etag, headers } = body.identity;
  if (bytes.length < MIN_GZIP_BYTES || !COMPRESSIBLE.test(body.contentType)) return 0;
  const packed = await gzipInSlices(bytes);
  if (packed.length >= bytes.length) return 0;
  const tag = gzipTag(etag);
  body.gzip = {
    bytes: packed,
    etag: tag,
    headers: {
      ...headers,
      etag: tag,
      "content-length": String(packed.length),
      "content-encoding": "gzip",
    },
  };
  return packed.length;
}

/** Node's zlib compresses on this thread here, so that a long body would hold up everyone. */
async function gzipInSlices(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const gzip = createGzip({ level: 6 });
  const chunks: Uint8Array[] = [];
  gzip.on("data", (chunk: Uint8Array) => chunks.push(chunk));
  const ended = new Promise<void>((resolve, reject) => gzip.on("end", resolve).on("error", reject));
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
    await new Promise<void>((resolve) =>
      gzip.write(bytes.subarray(at, at + SLICE_BYTES), () => resolve())
    );
  }
  gzip.end();
  await ended;
  return new Uint8Array(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}
