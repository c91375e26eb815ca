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
  /** Folders are not listed. */
  showDirListing?: false;
  /** Whether requests are left out of the log. */
  quiet?: boolean;
  /** For the files' tags; SHA-256 by default. */
  etagAlgorithm?: AlgorithmIdentifier;
  /** Headers for every response but a redirect, as "Name: value". */
  headers?: string[];
}

/** Answers a GET or HEAD request with a file: 404 when there is none, 304 when the client has it. */
export async function serveFile(
  req: Request,
  filePath: string,
  { etagAlgorithm: algorithm = "SHA-256", fileInfo }: ServeFileOptions = {},
): Promise<Response> {
  if (!isRead(req)) return toResponse(STATUS_CODE.MethodNotAllowed);
  fileInfo ??= await statOrNull(filePath) ?? undefined;
  if (fileInfo === undefined || fileInfo.isDirectory) return toResponse(STATUS_CODE.NotFound);

  const headers = new Headers();
  const type = contentType(filePath);
  const etag = await eTag(fileInfo, { algorithm });
  if (type !== null) headers.set("content-type", type);
  if (etag !== undefined) headers.set("etag", etag);
  if (fileInfo.mtime) headers.set("last-modified", fileInfo.mtime.toUTCString());

  if (isUnchanged(req, { etag, mtime: fileInfo.mtime })) {
    return new Response(null, { status: STATUS_CODE.NotModified, headers });
  }
  headers.set("content-length", String(fileInfo.size));
  const body = req.method === "HEAD" ? null : (await Deno.open(filePath)).readable;
  return new Response(body, { headers });
}

/** Answers a GET or HEAD request with the file that its URL names below a folder. */
export async function serveDir(req: Request, opts: ServeDirOptions = {}): Promise<Response> {
  const response = await findResponse(req, opts).catch(toErrorResponse);
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
  if (!isRead(req)) return toResponse(STATUS_CODE.MethodNotAllowed);
  const { fsRoot = ".", urlRoot, showIndex = true, etagAlgorithm = "SHA-256" } = opts;
  const url = new URL(req.url);
  // Normalised as an absolute path, a path can't climb out of the root.
  let path = normalize(decodeURIComponent(url.pathname));
  if (urlRoot) {
    if (path !== `/${urlRoot}` && !path.startsWith(`/${urlRoot}/`)) {
      return toResponse(STATUS_CODE.NotFound);
    }
    path = path.slice(urlRoot.length + 1);
  }

  const filePath = join(fsRoot, path);
  const fileInfo = await Deno.stat(filePath.replace(/(?<=.)\/$/, ""));
  const hasSlash = url.pathname.endsWith("/");
  if (fileInfo.isDirectory !== hasSlash) {
    const pathname = url.pathname.replaceAll(/\/+/g, "/");
    url.pathname = hasSlash ? pathname.slice(0, -1) : `${pathname}/`;
    return Response.redirect(url, STATUS_CODE.MovedPermanently);
  }
  if (!fileInfo.isDirectory) return serveFile(req, filePath, { etagAlgorithm, fileInfo });
  if (!showIndex) return toResponse(STATUS_CODE.NotFound);
  return serveFile(req, join(filePath, "index.html"), { etagAlgorithm });
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

function toErrorResponse(error: unknown): Response {
  if (error instanceof URIError) return toResponse(STATUS_CODE.BadRequest);
  if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
    return toResponse(STATUS_CODE.NotFound);
  }
  console.error(error);
  return toResponse(STATUS_CODE.InternalServerError);
}

function toResponse(status: StatusCode): Response {
  const statusText = STATUS_TEXT[status];
  const headers = status === STATUS_CODE.MethodNotAllowed ? { allow: "GET, HEAD" } : {};
  return new Response(statusText, { status, statusText, headers });
}
