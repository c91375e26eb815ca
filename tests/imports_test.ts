import { assert, assertEquals } from "@std/assert";
import { importedBy, readSourceFiles, type SourceFile } from "./source_files.ts";

const sources = await readSourceFiles();
const inLib = sources.filter(({ path }) => path.startsWith("lib/"));

/** What every part may import; these import each other only. */
const LEAVES = [
  "lib/background_jobs.ts",
  "lib/byte_semaphore.ts",
  "lib/clock.ts",
  "lib/errors.ts",
  "lib/log.ts",
  "lib/read_body.ts",
  "lib/single_flight.ts",
];

/** What a folder may import beside itself and the leaves: routes -> http -> collections -> source -> cache. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  // The grammar of fields, filters and sort is that of what selects, filters and sorts.
  "lib/api/": [
    "deno.json",
    "lib/collections/fields.ts",
    "lib/collections/filter.ts",
    "lib/collections/sort.ts",
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
const MADE_ONCE = [
  ...["BackgroundJobs", "CachedSource", "GitHubSource", "KvTier", "LargeBodies"],
  ...[
    "LineLog",
    "LocalSource",
    "Metrics",
    "ObjectCache",
    "RateLimit",
    "ResponseCache",
    "TokenPool",
  ],
];

function isUnder(path: string, places: readonly string[]): boolean {
  return places.some((place) => place.endsWith("/") ? path.startsWith(place) : path === place);
}

/** The files of a cycle in the order in which they import each other, or null. */
function findCycle(files: readonly Pick<SourceFile, "path" | "files">[]): string[] | null {
  const imports = new Map(files.map(({ path, files }) => [path, files]));
  const done = new Set<string>();
  const visit = (path: string, trail: string[]): string[] | null => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return null;
    for (const next of imports.get(path) ?? []) {
      const cycle = visit(next, [...trail, path]);
      if (cycle !== null) return cycle;
    }
    done.add(path);
    return null;
  };
  for (const { path } of files) {
    const cycle = visit(path, []);
    if (cycle !== null) return cycle;
  }
  return null;
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
  assertEquals(importedBy(text), [
    "./effect.ts",
    "./types.ts",
    "./lines.ts",
    "./again.ts",
    "./late.ts",
    "zod",
  ]);
});

Deno.test("imports make no cycle, not even of types", () => {
  const a = { path: "a.ts", files: ["b.ts"] };
  assertEquals(findCycle([a, { path: "b.ts", files: ["a.ts"] }]), ["a.ts", "b.ts", "a.ts"]);
  const serving = sources.filter(({ path }) => !isUnder(path, ["tests/", "bench/"]));
  assert(serving.length > 50);
  assertEquals(findCycle(serving), null);
});

Deno.test("imports go down only", () => {
  for (const { path, files } of sources) {
    const folder = Object.keys(MAY_IMPORT).find((folder) => path.startsWith(folder));
    if (folder === undefined) continue;
    const allowed = [folder, ...LEAVES, ...MAY_IMPORT[folder]!];
    assertEquals([path, files.filter((file) => !isUnder(file, allowed))], [path, []]);
  }
  for (const path of LEAVES) {
    const { files } = inLib.find((file) => file.path === path)!;
    const others = files.filter((file) => !isUnder(file, [...LEAVES, "lib/source/source.ts"]));
    assertEquals([path, others], [path, []]);
  }
});

Deno.test("GitHub's answers stay in lib/source/github", () => {
  for (
    const { path, files } of inLib.filter(({ path }) => !path.startsWith("lib/source/github/"))
  ) {
    const imported = files.filter((file) => file.startsWith("lib/source/github/"));
    const isWiring = path === "lib/services.ts";
    assertEquals([path, isWiring ? [] : imported], [path, []]);
  }
});

Deno.test("services.ts alone makes the parts of the service", () => {
  const making = new RegExp(`\\bnew (${MADE_ONCE.join("|")})\\(`);
  const makers = inLib.filter(({ text }) => making.test(text)).map(({ path }) => path);
  assertEquals(makers, ["lib/services.ts"]);
});

Deno.test("status codes of responses are in lib/http and the table of errors", () => {
  const given = inLib.filter(({ path, text }) =>
    !isUnder(path, ["lib/http/", "lib/errors.ts", "lib/source/github/"]) &&
    /\bstatus: ?[1-5]\d\d\b/.test(text)
  );
  assertEquals(given.map(({ path }) => path), []);
});

Deno.test("nothing that serves imports routes, the entries, tests or benches", () => {
  const above = ["routes/", "tests/", "bench/", "main.ts", "fresh.config.ts"];
  for (const { path, files } of inLib) {
    assertEquals([path, files.filter((file) => isUnder(file, above))], [path, []]);
  }
  for (
    const { path, files } of sources.filter(({ path }) => !isUnder(path, ["tests/", "bench/"]))
  ) {
    assertEquals([path, files.filter((file) => isUnder(file, ["tests/", "bench/"]))], [path, []]);
  }
});

Deno.test("packages stay where they belong, and JSR's are imported by the map's names", () => {
  for (
    const { path, packages } of sources.filter(({ path }) => isUnder(path, ["lib/", "routes/"]))
  ) {
    for (const name of packages) {
      assert(isUnder(path, PLACES[name] ?? [path]), `"${path}" imports "${name}"`);
      assert(!/^(jsr|npm|https?):/.test(name), `"${path}" imports "${name}"`);
    }
  }
});

Deno.test("fresh.config.ts alone reads the environment", () => {
  const readers = sources.filter(({ path, text }) =>
    !isUnder(path, ["tests/", "bench/", "jsr/"]) && /\bDeno\.env\./.test(text)
  );
  assertEquals(readers.map(({ path }) => path), ["fresh.config.ts"]);
});

Deno.test("files have names in snake case, and lib has no barrel", () => {
  const named = sources.filter(({ path }) => !path.startsWith("routes/"));
  const odd = named.map(({ path }) => path)
    .filter((path) => !/^([a-z0-9_]+\/)*([a-z0-9]+_)*[a-z0-9]+(\.d)?\.ts$/.test(path));
  assertEquals(odd, ["fresh.config.ts"]);
  assertEquals(
    inLib.filter(({ path }) => /\/(index|mod|utils?|helpers?|common)\.ts$/.test(path)),
    [],
  );
});

Deno.test("files of lib open with their job and have at most 300 lines, routes 40", () => {
  /** Two tables, and refs with their records. */
  const long = ["lib/errors.ts", "lib/api/parameters.ts", "lib/source/ref_checks.ts"];
  const lines = (text: string) => text.split("\n").length - 1;
  for (const { path, text } of inLib) assert(text.startsWith("// "), path);
  const over = inLib.filter(({ text }) => lines(text) > 300).map(({ path }) => path);
  assertEquals(over.filter((path) => !long.includes(path)), []);
  const routes = sources.filter(({ path }) => path.startsWith("routes/"));
  assertEquals(routes.filter(({ text }) => lines(text) > 40).map(({ path }) => path), []);
});
