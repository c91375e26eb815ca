// Files that are served unchanged: the pages of static/, the scripts and styles of static/assets/, the client, and the few
// files of npm packages that pages load. TypeScript loses its types here. Every file is read, compressed and hashed once,
// and found in a table by name: no name from a request reaches the file system.

import { transformSync } from "amaro";
import { problem } from "../errors.ts";
import { addGzip, dataResponse, negotiateBody, type ReadyBody, readyBody } from "./responses.ts";
import type { HttpContext } from "./state.ts";

const ROOT = new URL("../../", import.meta.url);
const HIGHLIGHT = "node_modules/@highlightjs/cdn-assets/es";
const LANGUAGES = [
  "bash",
  "css",
  "diff",
  "dockerfile",
  "go",
  "graphql",
  "ini",
  "java",
  "javascript",
  "json",
  "kotlin",
  "makefile",
  "markdown",
  "php",
  "python",
  "ruby",
  "rust",
  "scss",
  "sql",
  "swift",
  "typescript",
  "xml",
  "yaml",
];

/** Files of npm packages, by their names among the assets. */
const VENDOR: Record<string, string> = {
  "preact.js": "node_modules/htm/preact/standalone.module.js",
  "dompurify.js": "node_modules/dompurify/dist/purify.es.mjs",
  "highlight.js": `${HIGHLIGHT}/core.min.js`,
};
for (const name of LANGUAGES) {
  VENDOR[`highlight-${name}.js`] = `${HIGHLIGHT}/languages/${name}.min.js`;
}

/** The type of a page. */
export const HTML = "text/html; charset=utf-8";
const JAVASCRIPT = "text/javascript; charset=utf-8";
const TYPESCRIPT = "application/typescript; charset=utf-8";
/** By the extension; the others are scripts. */
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Browsers revalidate every file each time; an unchanged one is a 304. */
const REVALIDATED = { "cache-control": "no-cache" };
const IMMUTABLE = { "cache-control": "public, max-age=31536000, immutable" };

/** The policy of a page without scripts: nothing inline, nothing from elsewhere. */
export const PAGE_POLICY = "default-src 'none'; base-uri 'none'; form-action 'self'; " +
  "frame-ancestors 'none'; style-src 'self'; img-src 'self' data:";

/**
 * The policy of a page with scripts. It names the folder of the assets, since under `'self'` any script of this origin could
 * run. Text becomes markup by way of DOMPurify alone, and the one worker is a file of that folder. A source cannot name an IPv6 address (CSP 3, host-source).
 */
function scriptPolicy({ request, baseUrl }: HttpContext): string {
  const origins = [...new Set([baseUrl, new URL(request.url).origin])];
  const scripts = origins.map((origin) =>
    /^https?:\/\/[\w.-]+(:\d+)?(\/[\w.~/-]*)?$/.test(origin) ? `${origin}/assets/` : "'self'"
  );
  const images = origins.filter((origin) => /^https?:\/\/[\w.-]+(:\d+)?$/.test(origin));
  const trusted = "require-trusted-types-for 'script'; trusted-types dompurify worker";
  return `${[PAGE_POLICY, ...images].join(" ")}; ${["script-src", ...scripts].join(" ")}; ` +
    `${["worker-src", ...scripts].join(" ")}; connect-src 'self'; media-src 'self'; ${trusted}`;
}

/** The policy of the worker, which computes over content of strangers: its own modules, and no request. */
const WORKER_POLICY = "default-src 'none'; script-src 'self'";

/** What was read, by its name; a failure is not kept. */
const known = new Map<string, Promise<unknown>>();

function once<T>(name: string, read: () => Promise<T>): Promise<T> {
  let value = known.get(name) as Promise<T> | undefined;
  if (value === undefined) {
    value = read();
    value.catch(() => known.delete(name));
    known.set(name, value);
  }
  return value;
}

async function textBody(text: string, contentType: string): Promise<ReadyBody> {
  const body = await readyBody({ bytes: new TextEncoder().encode(text), contentType });
  await addGzip(body);
  return body;
}

async function fileBody(file: string, contentType: string): Promise<ReadyBody> {
  const text = await Deno.readTextFile(new URL(file, ROOT));
  if (contentType !== JAVASCRIPT || !file.endsWith(".ts")) return await textBody(text, contentType);
  // Removed types leave blanks.
  const { code } = transformSync(text, { mode: "strip-only" });
  return await textBody(code.replaceAll(/[ \t]+$/gm, ""), contentType);
}

/** Every asset; `version` is a digest of all of them, so that their imports of each other need no rewriting. */
async function readAssets() {
  const names = { ...VENDOR };
  for await (const { name } of Deno.readDir(new URL("static/assets/", ROOT))) {
    if (/\.(css|svg|ts)$/.test(name)) names[name] = `static/assets/${name}`;
  }
  const files = new Map<string, ReadyBody>();
  for (const [name, file] of Object.entries(names)) {
    const contentType = CONTENT_TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? JAVASCRIPT;
    files.set(name, await fileBody(file, contentType));
  }
  const tags = [...files].map(([name, { identity }]) => `${name} ${identity.etag}`).sort();
  const bytes = new TextEncoder().encode(tags.join("\n"));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return { version: digest.toHex().slice(0, 12), files };
}

/**
 * Answers with an asset. Under the current version it never changes; under any other version, which a page loaded before an
 * update requests, the current file is sent.
 * @throws {CollectionsError} route-not-found where there is no such asset.
 */
export async function assetResponse(
  context: HttpContext,
  { name = "", version }: { name?: string; version?: string },
): Promise<Response> {
  const assets = await once("assets", readAssets);
  const body = assets.files.get(name);
  if (body === undefined) throw problem("route-not-found", {});
  const policy = name === "worker.ts" ? { "content-security-policy": WORKER_POLICY } : {};
  const caching = version === assets.version ? IMMUTABLE : REVALIDATED;
  return bodyResponse(context, body, { ...caching, ...policy });
}

/** Answers with the client as JavaScript, or as the TypeScript that it is. */
export async function clientResponse(context: HttpContext, type: "js" | "ts"): Promise<Response> {
  const contentType = type === "ts" ? TYPESCRIPT : JAVASCRIPT;
  const body = await once(type, () => fileBody("packages/client/client.ts", contentType));
  // Where Deno looks for the types of a module.
  const types = type === "ts" ? {} : { "x-typescript-types": "./client.ts" };
  return bodyResponse(context, body, { ...REVALIDATED, ...types });
}

/** Answers with a page of static/; `values` as {@linkcode fillPage} says, `%assets%` is the folder of the assets. */
export async function pageResponse(
  context: HttpContext,
  name: string,
  values: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const body = await once(JSON.stringify([name, values]), async () => {
    const { version } = await once("assets", readAssets);
    const html = await fillPage(name, { ...values, assets: `assets/${version}` });
    return await textBody(html, HTML);
  });
  const policy = { "content-security-policy": scriptPolicy(context) };
  return bodyResponse(context, body, { ...REVALIDATED, ...policy });
}

/** A page of static/ in which each `%name%` is the value of that name, which is HTML. */
export async function fillPage(
  name: string,
  values: Readonly<Record<string, string>>,
): Promise<string> {
  const template = await once(name, () => Deno.readTextFile(new URL(`static/${name}`, ROOT)));
  return template.replaceAll(/%([a-z]+)%/g, (_, key: string) => values[key] ?? "");
}

/**
 * Text as HTML, in elements and in quoted attributes.
 *
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 *
 * equal(escapeHtml("<b>"), "&#60;b&#62;");
 * ```
 */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}

function bodyResponse(
  context: HttpContext,
  body: ReadyBody,
  own: Readonly<Record<string, string>>,
): Response {
  const negotiated = negotiateBody(body, context.request);
  const { large } = negotiated;
  return dataResponse(negotiated, own, large === null ? undefined : context.pace(large));
}
