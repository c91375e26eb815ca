// A registry of packages as JSR serves them, made of folders on this machine;
// Deno uses it where JSR_URL names it. Like `deno publish`, it puts what a
// folder's deno.json imports in the place of bare names.

import { join, SEPARATOR } from "@std/path";
import { readdir } from "node:fs/promises";

interface Package {
  readonly name: string;
  readonly version: string;
  readonly exports: string | Record<string, string>;
  readonly imports?: Record<string, string>;
}

/**
 * Serves folders that have a deno.json with a name, on the loopback interface;
 * `requested` are the paths asked for.
 */
export async function serveRegistry(folders: readonly string[], port = 0) {
  const files = new Map<string, string>();
  for (const folder of folders) await addPackage(files, folder);
  const requested: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port, onListen() {} },
    (request) => {
      const { pathname } = new URL(request.url);
      requested.push(pathname);
      const text = files.get(pathname);
      return new Response(text ?? "Not found", {
        status: text === undefined ? 404 : 200,
      });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    requested,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function addPackage(
  files: Map<string, string>,
  folder: string,
): Promise<void> {
  const config: Package = JSON.parse(
    await Deno.readTextFile(join(folder, "deno.json")),
  );
  const { name, version, exports, imports = {} } = config;
  const [scope, short] = name.slice(1).split("/");
  const manifest: Record<string, { size: number; checksum: string }> = {};
  for (const file of await readdir(folder, { recursive: true })) {
    if (!/\.([jt]sx?|json)$/.test(file)) continue;
    const path = file.replaceAll(SEPARATOR, "/");
    const text = resolveImports(
      await Deno.readTextFile(join(folder, path)),
      imports,
    );
    const bytes = new TextEncoder().encode(text);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))
      .toHex();
    manifest[`/${path}`] = { size: bytes.length, checksum: `sha256-${digest}` };
    files.set(`/${name}/${version}/${path}`, text);
  }
  const entries = typeof exports === "string" ? { ".": exports } : exports;
  files.set(
    `/${name}/${version}_meta.json`,
    JSON.stringify({ manifest, exports: entries }),
  );
  const meta = {
    scope,
    name: short,
    latest: version,
    versions: { [version]: {} },
  };
  files.set(`/${name}/meta.json`, JSON.stringify(meta));
}

function resolveImports(text: string, imports: Record<string, string>): string {
  return text.replaceAll(
    /(\b(?:from|import)\s*\(?\s*)"([^"]+)"/g,
    (all, before, specifier) => {
      const name = Object.keys(imports).find((key) =>
        specifier === key || specifier.startsWith(`${key}/`)
      );
      if (name === undefined) return all;
      return `${before}"${imports[name]}${specifier.slice(name.length)}"`;
    },
  );
}

// By hand, with folders as arguments, it serves until it is stopped; see
// CONTRIBUTING.md.
if (import.meta.main) console.log((await serveRegistry(Deno.args, 8990)).url);
