// Serves the files of a folder, and none outside it. A file's tag is weak: it is made of size and time.

import { extname, join, normalize } from "@std/path";
import { lookup } from "mrmime";
import { eTag, ifNoneMatch } from "./etag.ts";
import { STATUS_CODE, STATUS_TEXT, type StatusCode } from "./status.ts";

/** How a file is served. */
export interface ServeFileOptions {
  /** For the file's tag; SHA-256 by default. */
  etagAlgorithm?: AlgorithmIdentifier;
  /** What `Deno.stat()` gave for the file, where it is known. */
  fileInfo?: Deno.FileInfo;
}

/** How a folder is served. */
export interface ServeDirOptions {
  /** The folder; the current one by default. */
  fsRoot?: string;
  /** A path, without slashes around it, that is cut off the front of the request's. */
  urlRoot?: string;
  /** Whether a folder answers with its index.html, as it does by default. */
  showIndex?: boolean;
  /** Whether paths with a name that begins with a dot are served. */
  showDotfiles?: boolean;
  /** Folders are not listed. */
  showDirListing?: false;
  /** Whether requests are left out of the log. */
  quiet?: boolean;
  /** For the files' tags; SHA-256 by default. */
  etagAlgorithm?: AlgorithmIdentifier;
  /** Headers for every response but a redirect, as "Name: value". */
  headers?: string[];
}

/** Answers a GET or HEAD request with a file or the requested range: 404 when there is none, 304 when a GET has it. */
export async function serveFile(
  req: Request,
  filePath: string,
  { etagAlgorithm: algorithm = "SHA-256", fileInfo }: ServeFileOptions = {},
): Promise<Response> {
  if (!isRead(req)) return toResponse(STATUS_CODE.MethodNotAllowed);
  fileInfo ??= await statOrNull(filePath) ?? undefined;
  if (fileInfo === undefined || fileInfo.isDirectory) return toResponse(STATUS_CODE.NotFound);

  const { mtime, size } = fileInfo;
  const headers = new Headers({ server: "deno", "accept-ranges": "bytes" });
  const type = contentType(filePath);
  const etag = await eTag(fileInfo, { algorithm });
  if (type !== null) headers.set("content-type", type);
  if (etag !== undefined) headers.set("etag", etag);
  if (mtime) headers.set("last-modified", mtime.toUTCString());

  if (req.method === "HEAD") {
    headers.set("content-length", String(size));
    return toResponse(STATUS_CODE.OK, { headers, body: null });
  }
  if (isUnchanged(req, { etag, mtime })) {
    return toResponse(STATUS_CODE.NotModified, { headers, body: null });
  }
  const range = parseRange(req.headers.get("range"), size);
  if (range === null) {
    headers.set("content-length", String(size));
    const body = (await Deno.open(filePath)).readable;
    return toResponse(STATUS_CODE.OK, { headers, body });
  }
  if (range.end < 0 || range.end < range.start || range.start >= size) {
    headers.set("content-range", `bytes */${size}`);
    return toResponse(STATUS_CODE.RangeNotSatisfiable, { headers });
  }
  const start = Math.max(0, range.start);
  const end = Math.min(range.end, size - 1);
  headers.set("content-range", `bytes ${start}-${end}/${size}`);
  headers.set("content-length", String(end - start + 1));
  const file = await Deno.open(filePath);
  await file.seek(start, Deno.SeekMode.Start);
  const body = ReadableStream.from(readPart(file, end - start + 1));
  return toResponse(STATUS_CODE.PartialContent, { headers, body });
}

/** Answers a GET or HEAD request with the file that its URL names below a folder. */
export async function serveDir(req: Request, opts: ServeDirOptions = {}): Promise<Response> {
  if (!isRead(req)) return toResponse(STATUS_CODE.MethodNotAllowed);
  const response = await findResponse(req, opts).catch((error) => {
    if (!opts.quiet) console.error(error);
    const isMissing = error instanceof Deno.errors.NotFound;
    return toResponse(isMissing ? STATUS_CODE.NotFound : STATUS_CODE.InternalServerError);
  });
  if (response.status !== STATUS_CODE.MovedPermanently) {
    for (const header of opts.headers ?? []) {
      const [name = "", ...value] = header.split(":");
      response.headers.append(name, value.join(":"));
    }
  }
  if (!opts.quiet) {
    console.debug(`[${new Date().toISOString()}] [${req.method}] ${req.url} ${response.status}`);
  }
  return response;
}

async function findResponse(req: Request, opts: ServeDirOptions): Promise<Response> {
  const { fsRoot = ".", urlRoot, showIndex = true, etagAlgorithm = "SHA-256" } = opts;
  const url = new URL(req.url);
  const redirectTo = (pathname: string) => {
    url.pathname = pathname;
    return Response.redirect(url, STATUS_CODE.MovedPermanently);
  };
  const decoded = decodeURIComponent(url.pathname);
  // Normalised as an absolute path, a path can't climb out of the root.
  const normal = normalize(decoded);
  if (urlRoot && !normal.startsWith(`/${urlRoot}`)) return toResponse(STATUS_CODE.NotFound);
  if (normal !== decoded) return redirectTo(normal);
  const path = urlRoot ? normal.slice(urlRoot.length + 1) : normal;
  if (!opts.showDotfiles && path.includes("/.")) return toResponse(STATUS_CODE.NotFound);

  const filePath = join(fsRoot, path.replace(/\/$/, ""));
  const fileInfo = await Deno.stat(filePath);
  const hasSlash = url.pathname.endsWith("/");
  if (fileInfo.isFile && hasSlash) return redirectTo(url.pathname.slice(0, -1));
  if (fileInfo.isDirectory && !hasSlash) return redirectTo(`${url.pathname}/`);
  if (!fileInfo.isDirectory) return serveFile(req, filePath, { etagAlgorithm, fileInfo });
  if (!showIndex) return toResponse(STATUS_CODE.NotFound);
  return serveFile(req, join(filePath, "index.html"), { etagAlgorithm });
}

/** One range of bytes (RFC 9110, 14.1.2), null where none is valid. An empty file has no ranges. */
function parseRange(value: string | null, size: number): { start: number; end: number } | null {
  const [, first, last] = /bytes=(\d+)?-(\d+)?$/.exec(value ?? "") ?? [];
  if (size === 0 || (first === undefined && last === undefined)) return null;
  if (first === undefined) return { start: size - Number(last), end: size - 1 };
  return { start: Number(first), end: last === undefined ? size - 1 : Number(last) };
}

/** The next `length` bytes of a file, which is closed after them. */
async function* readPart(file: Deno.FsFile, length: number): AsyncGenerator<Uint8Array> {
  using _ = file;
  for (let rest = length; rest > 0;) {
    const part = new Uint8Array(Math.min(rest, 65_536));
    const read = await file.read(part);
    if (read === null) return;
    rest -= read;
    yield part.subarray(0, read);
  }
}

function isRead(req: Request): boolean {
  return req.method === "GET" || req.method === "HEAD";
}

/** If-Modified-Since counts only without If-None-Match, and to the second (RFC 9110, 13.1.3). */
function isUnchanged(
  req: Request,
  { etag, mtime }: { etag: string | undefined; mtime: Date | null },
): boolean {
  const tags = req.headers.get("if-none-match");
  if (tags !== null) return !ifNoneMatch(tags, etag);
  const since = Date.parse(req.headers.get("if-modified-since") ?? "");
  return mtime !== null && mtime.getTime() < since + 1000;
}

function contentType(filePath: string): string | null {
  const type = lookup(extname(filePath)) ?? null;
  const isText = type !== null && /^text\/|[/+](json|javascript)$/.test(type);
  return isText ? `${type}; charset=UTF-8` : type;
}

async function statOrNull(filePath: string): Promise<Deno.FileInfo | null> {
  try {
    return await Deno.stat(filePath);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** The body is the status's text unless one is given. */
function toResponse(
  status: StatusCode,
  { headers, body }: { headers?: Headers; body?: BodyInit | null } = {},
): Response {
  const statusText = STATUS_TEXT[status];
  return new Response(body === undefined ? statusText : body, {
    status,
    statusText,
    ...headers && { headers },
  });
}
