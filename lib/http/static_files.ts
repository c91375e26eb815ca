// Files that are served as they are, by fixed names: the pages of static/, the scripts and styles of static/assets/, the
// client, and the few files of node_modules that pages load. TypeScript loses its types once, at the first request.
// Everything is read, compressed and hashed once: a name from a request never reaches the file system.

import { acceptsEncodings, eTag, ifNoneMatch } from "@std/http";
import { transformSync } from "amaro";
import { gzipSync } from "node:zlib";
import { routeNotFound } from "./problem.ts";

interface StaticBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Null where it would not be smaller. */
  readonly gzip: Uint8Array<ArrayBuffer> | null;
  readonly etag: string;
  readonly contentType: string;
}

const ROOT = new URL("../../", import.meta.url);
const HIGHLIGHT = "node_modules/@highlightjs/cdn-assets/es";
const LANGUAGES =
  "bash css diff dockerfile go graphql ini java javascript json kotlin makefile markdown php python ruby rust scss sql swift typescript xml yaml";

/** Files of npm packages, by their names among the assets. */
const VENDOR: ReadonlyMap<string, string> = new Map([
  ["preact.js", "node_modules/htm/preact/standalone.module.js"],
  ["dompurify.js", "node_modules/dompurify/dist/purify.es.mjs"],
  ["highlight.js", `${HIGHLIGHT}/core.min.js`],
  ...LANGUAGES.split(" ").map((name) =>
    [`highlight-${name}.js`, `${HIGHLIGHT}/languages/${name}.min.js`] as const
  ),
]);

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  mjs: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  ts: "text/javascript; charset=utf-8",
};

const BASE_POLICY =
  "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; style-src 'self'; img-src 'self' data:";

/** The policy of a page without scripts. */
export const PAGE_POLICY = BASE_POLICY;

/**
 * The policy of a page with scripts. It names the folder of the assets: `'self'` would let a repository's script run that
 * this service sends from the same origin. Text becomes markup by way of DOMPurify alone.
 */
function scriptPolicy(origins: ReadonlySet<string>): string {
  // A source of a policy cannot name an IPv6 address (CSP 3, host-source).
  const sources = [...origins].map((origin) =>
    /^https?:\/\/[\w.-]+(:\d+)?(\/[\w.~/-]*)?$/.test(origin) ? `${origin}/assets/` : "'self'"
  );
  const images = [...origins].filter((origin) => /^https?:\/\/[\w.:-]+$/.test(origin));
  return [
    BASE_POLICY + images.map((origin) => ` ${origin}`).join(""),
    `script-src ${sources.join(" ")}`,
    "connect-src 'self'",
    "media-src 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types dompurify",
  ].join("; ");
}

let assets: Promise<{ version: string; files: ReadonlyMap<string, StaticBody> }> | null = null;

/** Reads every asset; `version` is a digest of all of them, so that their imports of each other need no rewriting. */
async function readAssets() {
  const files = new Map<string, StaticBody>();
  for (const [name, file] of VENDOR) files.set(name, await readBody(file));
  for await (const { name } of Deno.readDir(new URL("static/assets/", ROOT))) {
    if (/\.(css|svg|ts)$/.test(name)) files.set(name, await readBody(`static/assets/${name}`));
  }
  const tags = [...files].map(([name, { etag }]) => `${name} ${etag}`).sort().join("\n");
  const version = (await eTag(tags)).replaceAll(/[^0-9A-Za-z]/g, "").slice(-12);
  return { version, files };
}

async function readBody(file: string): Promise<StaticBody> {
  const text = await Deno.readTextFile(new URL(file, ROOT));
  const extension = file.slice(file.lastIndexOf(".") + 1);
  const code = extension === "ts" ? transformSync(text, { mode: "strip-only" }).code : text;
  // What the stripped types leave behind are blanks.
  const isScript = extension === "ts";
  return await toBody(isScript ? code.replaceAll(/[ \t]+$/gm, "") : code, extension);
}

async function toBody(text: string, extension: string): Promise<StaticBody> {
  const bytes = new TextEncoder().encode(text);
  const gzip = new Uint8Array(gzipSync(bytes, { level: 9 }));
  return {
    bytes,
    gzip: gzip.length < bytes.length ? gzip : null,
    etag: await eTag(bytes),
    contentType: CONTENT_TYPES[extension] ?? "text/plain; charset=utf-8",
  };
}

/**
 * Answers with an asset. A browser keeps one that is named with the current version for good; another version, such as a
 * page has that was loaded before an update, gives the file as it is now.
 * @throws {CollectionsError} route-not-found where there is no such asset.
 */
export async function assetResponse(
  request: Request,
  { name, version = "" }: { name: string; version?: string },
): Promise<Response> {
  const known = await (assets ??= readAssets());
  const body = known.files.get(name);
  if (body === undefined) throw routeNotFound();
  const isCurrent = version === known.version;
  return bodyResponse(request, body, {
    "cache-control": isCurrent ? "public, max-age=31536000, immutable" : "no-cache",
  });
}

const modules = new Map<string, Promise<StaticBody>>();

/** Answers with a module of the project: its JavaScript, or with `asSource` its TypeScript as it is. */
export async function moduleResponse(
  request: Request,
  file: string,
  { asSource = false, headers = {} }: { asSource?: boolean; headers?: Record<string, string> } = {},
): Promise<Response> {
  const key = `${file} ${asSource}`;
  if (!modules.has(key)) {
    const source = () => Deno.readTextFile(new URL(file, ROOT));
    modules.set(key, asSource ? source().then((text) => toBody(text, "source")) : readBody(file));
  }
  const body = await modules.get(key)!;
  const contentType = asSource ? "application/typescript; charset=utf-8" : body.contentType;
  return bodyResponse(request, { ...body, contentType }, {
    "cache-control": "no-cache",
    ...headers,
  });
}

const pages = new Map<string, Promise<StaticBody>>();
const MAX_PAGES = 20;

/**
 * Answers with a page of static/, in which each `%name%` becomes the value of that name, and `%assets%` the folder of
 * the assets. `baseUrl` is where this service says that it is, without a slash at the end.
 */
export async function pageResponse(
  request: Request,
  { name, baseUrl, values = {} }: {
    name: string;
    baseUrl: string;
    values?: Readonly<Record<string, string>>;
  },
): Promise<Response> {
  const key = JSON.stringify([name, values]);
  if (!pages.has(key)) {
    if (pages.size >= MAX_PAGES) pages.clear();
    pages.set(key, makePage(name, values));
  }
  return bodyResponse(request, await pages.get(key)!, {
    "cache-control": "no-cache",
    "content-security-policy": scriptPolicy(new Set([baseUrl, new URL(request.url).origin])),
  });
}

async function makePage(
  name: string,
  values: Readonly<Record<string, string>>,
): Promise<StaticBody> {
  const { version } = await (assets ??= readAssets());
  const all: Readonly<Record<string, string>> = { ...values, assets: `assets/${version}` };
  const text = await Deno.readTextFile(new URL(`static/${name}`, ROOT));
  const filled = text.replaceAll(/%([a-z]+)%/g, (_, key: string) => escapeHtml(all[key] ?? ""));
  return await toBody(filled, "html");
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** 200, 304, 206 or 416; a range is a range of the plain bytes (RFC 9110, 14). */
function bodyResponse(
  request: Request,
  { bytes, gzip, etag, contentType }: StaticBody,
  common: Readonly<Record<string, string>>,
): Response {
  const range = request.headers.get("range")?.match(/^bytes=(\d*)-(\d*)$/);
  const isGzip = gzip !== null && !range &&
    acceptsEncodings(request, "gzip", "identity") === "gzip";
  const tag = isGzip ? etag.replace(/"$/, '-gzip"') : etag;
  const headers = { ...common, etag: tag, vary: "Accept-Encoding", "accept-ranges": "bytes" };
  const given = request.headers.get("if-none-match");
  if (given !== null && !ifNoneMatch(given, tag)) {
    return new Response(null, { status: 304, headers });
  }
  const send = (status: number, body: Uint8Array<ArrayBuffer>, more: Record<string, string>) =>
    new Response(body, {
      status,
      headers: {
        ...headers,
        "content-type": contentType,
        "content-length": `${body.length}`,
        ...more,
      },
    });
  if (isGzip) return send(200, gzip, { "content-encoding": "gzip" });
  const size = bytes.length;
  if (!range || range[1] + range[2]! === "" || request.headers.has("if-range")) {
    return send(200, bytes, {});
  }
  const first = range[1] === "" ? Math.max(0, size - Number(range[2])) : Number(range[1]);
  const last = range[1] === "" || range[2] === "" ? size - 1 : Math.min(size - 1, Number(range[2]));
  if (first >= size) {
    return new Response(null, { status: 416, headers: { "content-range": `bytes */${size}` } });
  }
  if (last < first) return send(200, bytes, {});
  return send(206, bytes.slice(first, last + 1), {
    "content-range": `bytes ${first}-${last}/${size}`,
  });
}
