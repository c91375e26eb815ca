import { assert, assertEquals } from "@std/assert";
import { importedBy, readSourceFiles, type SourceFile } from "./source_files.ts";

const sources = await readSourceFiles();
const serving = sources.filter(({ path }) => !/^(tests|bench)\//.test(path));
const inLib = sources.filter(({ path }) => path.startsWith("lib/"));

/** What every part may import; these import each other only. */
const LEAVES = [
  "background_jobs",
  "byte_semaphore",
  "clock",
  "errors",
  "log",
  "read_body",
  "single_flight",
]
  .map((name) => `lib/${name}.ts`);

/** What a folder may import beside itself and the leaves: routes -> http -> collections -> source -> cache. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  // The grammar of fields, filters and sort is that of what selects, filters and sorts.
  "lib/api/": [
    "deno.json",
    ...["fields", "filter", "sort"].map((name) => `lib/collections/${name}.ts`),
  ],
  "lib/cache/": [],
  // Use cases see the port, never a kind of repository.
  "lib/collections/": [
    "lib/api/",
    "lib/cache/object_cache.ts",
    "lib/markdown/",
    "lib/source/source.ts",
    "lib/source/file_list.ts",
  ],
  "lib/markdown/": [],
  "lib/source/": ["lib/cache/"],
  "lib/http/": ["lib/"],
  "routes/": ["lib/", "deno.json"],
  "jsr/": [],
};

/** Packages that have their place: a framework at the edge, schemas where data comes in. */
const PLACES: Record<string, readonly string[]> = {
  "fresh": ["lib/http/", "routes/", "fresh.config.ts"],
  "zod": ["lib/settings.ts", "lib/api/", "lib/source/", "lib/http/webhook.ts"],
  "yaml": ["lib/collections/"],
  "smol-toml": ["lib/collections/"],
  "@octokit/openapi-types": ["tests/source/"],
};

/** What only services.ts makes; a ByteSemaphore bounds the upstream answers of one client, too. */
const MADE_ONCE =
  /\bnew (BackgroundJobs|CachedSource|GitHubSource|KvTier|LargeBodies|LineLog|LocalSource|Metrics|ObjectCache|RateLimit|ResponseCache|TokenPool)\(/;

function isUnder(path: string, places: readonly string[]): boolean {
  return places.some((place) => place.endsWith("/") ? path.startsWith(place) : path === place);
}

/** Files that import each other: what is left without those that import nothing of the rest, or that nothing of it imports. */
function findCycles(files: readonly Pick<SourceFile, "path" | "files">[]): string[] {
  const left = new Map(files.map(({ path, files }) => [path, files]));
  for (let size = 0; size !== left.size;) {
    size = left.size;
    for (const [path, imported] of left) {
      const isImported = [...left.values()].some((files) => files.includes(path));
      if (!isImported || !imported.some((file) => left.has(file))) left.delete(path);
    }
  }
  return [...left.keys()];
}

/** Each file of `files` imports only what is under its `allowed` places. */
function assertImports(
  files: readonly SourceFile[],
  allowed: (path: string) => readonly string[],
): void {
  for (const { path, files: imported } of files) {
    const others = imported.filter((file) => !isUnder(file, allowed(path)));
    assertEquals([path, others], [path, []]);
  }
}

Deno.test("importedBy() sees every form of import and none in comments", () => {
  // The bar keeps this text from being read as imports of this file.
  const text = `
    |// import { no } from "./comment.ts";
    |import "./effect.ts";
    |import type { A } from "./types.ts";
    |import {
    |  b,
    |} from "./lines.ts";
    |export * from "./again.ts";
    |const c = await ${"import"}("./late.ts");
    |const from = "./text.ts";
    |import zod from 'zod';
    | * import { App } from "./example.ts";
  `.replaceAll(/^ *\|/gm, "");
  const files = ["effect", "types", "lines", "again", "late"].map((name) => `./${name}.ts`);
  assertEquals(importedBy(text), [...files, "zod"]);
});

Deno.test("imports make no cycle, not even of types", () => {
  const [a, b, c] = [["a.ts", "b.ts"], ["b.ts", "a.ts", "c.ts"], ["c.ts"]]
    .map(([path, ...files]) => ({ path: path!, files }));
  const top = { path: "top.ts", files: ["a.ts"] };
  assertEquals([findCycles([top, a!, b!, c!]), findCycles([top, a!, c!])], [["a.ts", "b.ts"], []]);
  assert(serving.length > 50);
  assertEquals(findCycles(serving), []);
});

Deno.test("imports go down only, and nothing that serves imports tests or benches", () => {
  const folderOf = (path: string) =>
    Object.keys(MAY_IMPORT).find((folder) => path.startsWith(folder));
  const inFolders = sources.filter(({ path }) => folderOf(path) !== undefined);
  assertImports(inFolders, (path) => {
    const folder = folderOf(path)!;
    return [folder, ...LEAVES, ...MAY_IMPORT[folder]!];
  });
  const leaves = inLib.filter(({ path }) => LEAVES.includes(path));
  assertEquals(leaves.length, LEAVES.length);
  assertImports(leaves, () => [...LEAVES, "lib/source/source.ts"]);
  assertImports(inLib, () => ["lib/", "deno.json"]);
  const parts = ["lib/", "routes/", "jsr/", "packages/", "static/", "deno.json", "fresh.config.ts"];
  assertImports(serving, () => parts);
});

Deno.test("GitHub's answers stay in lib/source/github, and services.ts alone makes the parts", () => {
  const github = (file: string) => file.startsWith("lib/source/github/");
  const readers = inLib.filter(({ path, files }) => !github(path) && files.some(github));
  const makers = inLib.filter(({ text }) => MADE_ONCE.test(text));
  for (const found of [readers, makers]) {
    assertEquals(found.map(({ path }) => path), ["lib/services.ts"]);
  }
});

Deno.test("status codes of responses are in lib/http and the table of errors", () => {
  const given = inLib.filter(({ path, text }) =>
    !isUnder(path, ["lib/http/", "lib/errors.ts", "lib/source/github/"]) &&
    /\bstatus: ?[1-5]\d\d\b/.test(text)
  );
  assertEquals(given.map(({ path }) => path), []);
});

Deno.test("packages stay where they belong, and JSR's are imported by the map's names", () => {
  for (const { path, packages } of sources) {
    if (!isUnder(path, ["lib/", "routes/"])) continue;
    for (const name of packages) {
      const isPlaced = isUnder(path, PLACES[name] ?? [path]) && !/^(jsr|npm|https?):/.test(name);
      assert(isPlaced, `"${path}" imports "${name}"`);
    }
  }
});

Deno.test("fresh.config.ts alone reads the environment", () => {
  const readers = serving.filter(({ path, text }) =>
    !path.startsWith("jsr/") && /\bDeno\.env\./.test(text)
  );
  assertEquals(readers.map(({ path }) => path), ["fresh.config.ts"]);
});

Deno.test("files have names in snake case, and lib has no barrel", () => {
  const odd = sources.map(({ path }) => path).filter((path) =>
    !path.startsWith("routes/") && !/^([a-z0-9_]+\/)*([a-z0-9]+_)*[a-z0-9]+(\.d)?\.ts$/.test(path)
  );
  assertEquals(odd, ["fresh.config.ts"]);
  const barrels = /\/(index|mod|utils?|helpers?|common)\.ts$/;
  assertEquals(inLib.filter(({ path }) => barrels.test(path)), []);
});

Deno.test("files of lib open with their job and have at most 300 lines, routes 40", () => {
  /** Two tables, and refs with their records. */
  const long = ["lib/errors.ts", "lib/api/parameters.ts", "lib/source/ref_checks.ts"];
  for (const { path, text } of inLib) assert(text.startsWith("// "), path);
  const over = serving.filter(({ path, text }) => {
    const lines = text.split("\n").length - 1;
    return isUnder(path, ["lib/"]) && lines > 300 || isUnder(path, ["routes/"]) && lines > 40;
  });
  assertEquals(over.map(({ path }) => path).filter((path) => !long.includes(path)), []);
});
