// Files that are served as they are, by fixed names: those of static/, and of node_modules those that pages load. HTML goes
// out with a policy under which only this service's own scripts and styles run.

import { serveFile } from "@std/http";
import { fromFileUrl } from "@std/path";
import { routeNotFound } from "../errors.ts";

/** How a file goes out. */
export interface StaticFileOptions {
  readonly contentType?: string;
  /** Seconds for which a browser need not ask again; 0 where absent: it asks each time whether the file has changed. */
  readonly maxAgeSeconds?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const ROOT = new URL("../../", import.meta.url);

/** What every page may do: nothing from elsewhere, no inline script. */
const COMMON_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
];

/** For pages of this service: nothing inline at all, and no text that becomes a script by way of the DOM. */
export const PAGE_POLICY = [
  ...COMMON_POLICY,
  "style-src 'self'",
  "media-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types dompurify",
].join("; ");

/** For the page whose viewer writes its own styles, and makes text into markup by itself. */
export const REFERENCE_POLICY = [...COMMON_POLICY, "style-src 'self' 'unsafe-inline'"].join("; ");

/** The path on this machine of a file or folder of the project, named from the project's root. */
function projectPath(name: string): string {
  return fromFileUrl(new URL(name, ROOT));
}

/**
 * Answers a GET or HEAD with one file of the project.
 * @throws {CollectionsError} route-not-found where there is no such file.
 */
export async function staticFile(
  request: Request,
  name: string,
  options: StaticFileOptions = {},
): Promise<Response> {
  return asStatic(await serveFile(request, projectPath(name)), options);
}

/** Answers with a page of static/, under `policy`. */
export function staticPage(
  request: Request,
  name: string,
  policy: string = PAGE_POLICY,
): Promise<Response> {
  return staticFile(request, name, { headers: { "content-security-policy": policy } });
}

/** What @std/http made of a file, with this service's headers; whatever is no file is route-not-found. */
function asStatic(
  response: Response,
  { contentType, maxAgeSeconds = 0, headers = {} }: StaticFileOptions,
): Response {
  if (![200, 206, 304].includes(response.status)) {
    response.body?.cancel();
    throw routeNotFound();
  }
  if (contentType !== undefined && response.status !== 304) {
    response.headers.set("content-type", contentType);
  }
  response.headers.set(
    "cache-control",
    maxAgeSeconds === 0 ? "no-cache" : `public, max-age=${maxAgeSeconds}`,
  );
  // The published file server names itself; who reads that is nobody's client.
  response.headers.delete("server");
  for (const [header, value] of Object.entries(headers)) response.headers.set(header, value);
  return response;
}
