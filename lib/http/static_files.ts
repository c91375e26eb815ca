// Static files: the pages of static/, the scripts and styles of static/assets/,
// the client and a few files of npm packages that pages load. TypeScript loses
// its types here. Every file is read, compressed and hashed once. Files are
// found by name in a table. No name from a request reaches the file system.

import { contentTypeOf } from "../content/file_names.ts";
import { problem } from "../errors.ts";
import { RecentMap } from "../work/recent_map.ts";
import { addGzip, type ReadyBody, readyBody } from "./responses.ts";
import type { HttpContext } from "./state.ts";
import { packTar } from "./tar.ts";

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

/** Files of npm packages by their asset names. */
const VENDOR: Record<string, string> = {
  "preact.js": "node_modules/htm/preact/standalone.module.js",
  "dompurify.js": "node_modules/dompurify/dist/purify.es.mjs",
  "highlight.js": `${HIGHLIGHT}/core.min.js`,
};
for (const name of LANGUAGES) {
  VENDOR[`highlight-${name}.js`] = `${HIGHLIGHT}/languages/${name}.min.js`;
}

const PACKAGE = "packages/client";
const PACKAGED = [
  "package.json",
  "README.md",
  "LICENSE",
  "client.js",
  "client.d.ts",
];

/** The content type of pages. */
export const HTML = "text/html; charset=utf-8";
const JAVASCRIPT = "text/javascript; charset=utf-8";
const TYPESCRIPT = "application/typescript; charset=utf-8";

/** Browsers revalidate these files every time. Unchanged files get a 304. */
const REVALIDATED = { "cache-control": "no-cache" };
const IMMUTABLE = { "cache-control": "public, max-age=31536000, immutable" };

/**
 * The policy of pages without scripts. It allows nothing inline and nothing
 * from other origins.
 */
export const PAGE_POLICY =
  "default-src 'none'; base-uri 'none'; form-action 'self'; " +
  "frame-ancestors 'none'; style-src 'self'; img-src 'self' data:";

/**
 * The policy of pages with scripts. It names the assets folder because `'self'`
 * would allow any script of this origin. Only DOMPurify may turn text into
 * markup. The only worker is a file of that folder. A CSP source cannot name an
 * IPv6 address (CSP 3, host-source).
 */
function scriptPolicy({ request, baseUrl }: HttpContext): string {
  const origins = [...new Set([baseUrl, new URL(request.url).origin])];
  const scripts = origins.map((origin) =>
    /^https?:\/\/[\w.-]+(:\d+)?(\/[\w.~/-]*)?$/.test(origin)
      ? `${origin}/assets/`
      : "'self'"
  );
  const images = origins.filter((origin) =>
    /^https?:\/\/[\w.-]+(:\d+)?$/.test(origin)
  );
  const trusted =
    "require-trusted-types-for 'script'; trusted-types dompurify worker";
  return `${[PAGE_POLICY, ...images].join(" ")}; ${
    ["script-src", ...scripts].join(" ")
  }; ` +
    `${
      ["worker-src", ...scripts].join(" ")
    }; connect-src 'self'; media-src 'self'; ${trusted}`;
}

/**
 * The policy of the worker. It processes untrusted content, so it may load its
 * own modules but send no requests.
 */
const WORKER_POLICY = "default-src 'none'; script-src 'self'";

/**
 * Loaded values by name. Failures are not cached. The names of local folders
 * are part of a page's name, and they may change often.
 */
const known = new RecentMap<Promise<unknown>>(100);

function once<T>(name: string, read: () => Promise<T>): Promise<T> {
  let value = known.get(name) as Promise<T> | undefined;
  if (value === undefined) {
    value = read();
    value.catch(() => known.delete(name));
    known.set(name, value);
  }
  return value;
}

/** Returns a body with its gzip coding. */
export async function textBody(
  text: string,
  contentType: string,
): Promise<ReadyBody> {
  const body = await readyBody({
    bytes: new TextEncoder().encode(text),
    contentType,
  });
  await addGzip(body);
  return body;
}

const readText = (file: string) => Deno.readTextFile(new URL(file, ROOT));

/** Comments on lines of their own are an eighth of the bytes of a script. */
const COMMENTS = /^ *\/(\/.*|\*\*[^]*?\*\/)$/gm;

/** Returns TypeScript as a script without types and comments. */
async function scriptBody(text: string): Promise<ReadyBody> {
  const code = await withoutTypes(text);
  return await textBody(code.replaceAll(COMMENTS, ""), JAVASCRIPT);
}

async function withoutTypes(text: string): Promise<string> {
  // Loading it takes 30 ms, which a start does not need.
  const { transformSync } = await import("amaro");
  const { code } = transformSync(text, { mode: "strip-only" });
  // Removed types leave trailing blanks.
  return code.replaceAll(/[ \t]+$/gm, "");
}

/**
 * Reads all assets. `version` is a digest of all assets. They share it so that
 * their imports of each other need no rewriting.
 */
async function readAssets() {
  const names = { ...VENDOR };
  for await (const { name } of Deno.readDir(new URL("static/assets/", ROOT))) {
    if (/\.(css|svg|ts)$/.test(name)) names[name] = `static/assets/${name}`;
  }
  const files = new Map<string, ReadyBody>();
  for (const [name, file] of Object.entries(names)) {
    const text = await readText(file);
    const body = file.endsWith(".ts")
      ? scriptBody(text)
      : textBody(text, contentTypeOf(name));
    files.set(name, await body);
  }
  const tags = [...files].map(([name, { identity }]) =>
    `${name} ${identity.etag}`
  ).sort();
  const bytes = new TextEncoder().encode(tags.join("\n"));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return { version: digest.toHex().slice(0, 12), files };
}

/**
 * Responds with an asset. The response is immutable under the current version.
 * Pages that were loaded before an update request another version and get the
 * current file.
 * @throws {CollectionsError} route-not-found if there is no such asset.
 */
export async function assetResponse(
  context: HttpContext,
  { name = "", version }: { name?: string; version?: string },
): Promise<Response> {
  const assets = await once("assets", readAssets);
  const body = assets.files.get(name);
  if (body === undefined) throw problem("route-not-found", {});
  const policy = name === "worker.ts"
    ? { "content-security-policy": WORKER_POLICY }
    : {};
  const caching = version === assets.version ? IMMUTABLE : REVALIDATED;
  return context.respond(body, { ...caching, ...policy });
}

/** Responds with the client as JavaScript, TypeScript or a package for npm. */
export async function clientResponse(
  context: HttpContext,
  type: keyof typeof CLIENT_BODIES,
): Promise<Response> {
  const body = await once(type, async () => {
    const source = await readText(`${PACKAGE}/client.ts`);
    return await CLIENT_BODIES[type](source);
  });
  // Deno finds the types of a JavaScript module by this header.
  const types = type === "js" ? { "x-typescript-types": "./client.ts" } : {};
  return context.respond(body, { ...REVALIDATED, ...types });
}

const CLIENT_BODIES = {
  ts: (source: string) => textBody(served(source), TYPESCRIPT),
  js: (source: string) => scriptBody(served(source)),
  tgz: async (source: string) => {
    const files = PACKAGED.map(async (name) =>
      [
        `package/${name}`,
        name === "client.js"
          ? await withoutTypes(source)
          : await readText(`${PACKAGE}/${name}`),
      ] as const
    );
    const archive = packTar(await Promise.all(files)).stream()
      .pipeThrough(new CompressionStream("gzip"));
    const bytes = await new Response(archive).bytes();
    return await readyBody({ bytes, contentType: "application/gzip" });
  },
};

/** The served client requests the service that it was loaded from. */
function served(source: string): string {
  const parameter = "baseUrl: string | URL";
  return source.replace(
    `${parameter},`,
    `${parameter} = new URL(".", import.meta.url),`,
  );
}

/**
 * Responds with a page of static/. {@linkcode fillPage} inserts `values`.
 * `%assets%` is the folder of the assets. Pages with the same `key` are made
 * once.
 */
export async function pageResponse(
  context: HttpContext,
  name: string,
  values: () =>
    | Readonly<Record<string, string>>
    | Promise<
      Readonly<Record<string, string>>
    >,
  key: string,
): Promise<Response> {
  const body = await once(`${name} ${key}`, async () => {
    const { version } = await once("assets", readAssets);
    const html = await fillPage(name, {
      ...await values(),
      assets: `assets/${version}`,
    });
    return await textBody(html, HTML);
  });
  const policy = { "content-security-policy": scriptPolicy(context) };
  return context.respond(body, { ...REVALIDATED, ...policy });
}

/**
 * Returns a page of static/ with each `%name%` replaced by its value. Values
 * are HTML and are not escaped.
 */
export async function fillPage(
  name: string,
  values: Readonly<Record<string, string>>,
): Promise<string> {
  const template = await once(
    name,
    () => readText(`static/${name}`),
  );
  return template.replaceAll(
    /%([a-z]+)%/g,
    (_, key: string) => values[key] ?? "",
  );
}
