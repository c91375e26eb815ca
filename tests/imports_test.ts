import { assert, assertEquals } from "@std/assert";
import {
  importedBy,
  readSourceFiles,
  type SourceFile,
} from "./source_files.ts";

const sources = await readSourceFiles();
const serving = sources.filter(({ path }) => !/^(tests|bench)\//.test(path));

/** What every part may import; these import each other only. */
const LEAVES = ["lib/errors.ts", "lib/log.ts", "lib/work/"];

/**
 * What a folder may import beside itself and the leaves: routes -> http ->
 * collections -> source, content -> cache.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  // The grammar of fields, filters, search and sort is that of what selects,
  // filters, searches and sorts.
  "lib/api/": [
    "packages/client/client.ts",
    "lib/content/fields.ts",
    "lib/content/filter.ts",
    "lib/content/search_terms.ts",
    "lib/content/sort.ts",
  ],
  "lib/cache/": ["lib/work/"],
  // Use cases see the port, never a kind of repository.
  "lib/collections/": [
    "lib/api/",
    "lib/cache/object_cache.ts",
    "lib/content/",
    "lib/source/source.ts",
    "lib/source/file_list.ts",
    "lib/source/tree_entries.ts",
    "lib/thread/compute.ts",
  ],
  // Functions of their input, which both threads run.
  "lib/content/": [
    "lib/api/",
    "lib/source/file_list.ts",
    "lib/source/tree_entries.ts",
    "lib/thread/compute.ts",
  ],
  "lib/source/": [
    "lib/api/names.ts",
    "lib/cache/",
    "lib/content/file_names.ts",
    "lib/thread/compute.ts",
    "lib/work/",
  ],
  // Names every task.
  "lib/thread/": [
    "lib/content/tasks.ts",
    "lib/source/git_object_id.ts",
    "lib/source/github/",
  ],
  "lib/http/": ["lib/"],
  "lib/": ["deno.json"],
  "routes/": ["lib/", "deno.json"],
  "jsr/": [],
  "": [
    "lib/",
    "routes/",
    "jsr/",
    "packages/",
    "static/",
    "deno.json",
    "fresh.config.ts",
  ],
};

/** What a file may import, by the first folder of the table that it is in. */
function allowedFor(path: string): readonly string[] {
  if (isUnder(path, LEAVES)) return [...LEAVES, "lib/source/source.ts"];
  const folder = Object.keys(MAY_IMPORT).find((folder) =>
    path.startsWith(folder)
  )!;
  return [folder, ...LEAVES, ...MAY_IMPORT[folder]!];
}

/** What only these places of the service may have in their text. */
const PLACES: readonly [
  what: string,
  text: RegExp,
  places: readonly string[],
][] = [
  ["the environment", /\bDeno\.env\./, ["fresh.config.ts"]],
  [
    "GitHub's answers",
    /from ".*\/github\//,
    ["lib/services.ts", "lib/source/github/", "lib/thread/tasks.ts"],
  ],
  [
    "parts that are made once",
    /\bnew (BackgroundJobs|CachedSource|ContentThreads|GitHubSource|KvTier|LargeBodies|LineLog|LocalSource|Metrics|ObjectCache|RateLimit|ResponseCache|TokenPool|UnderWay)\(/,
    ["lib/services.ts"],
  ],
  [
    "status codes of responses",
    /\bstatus: ?[1-5]\d\d\b/,
    ["lib/http/", "lib/errors.ts", "lib/source/github/"],
  ],
  ["the framework", /from "fresh"/, [
    "lib/http/",
    "routes/",
    "fresh.config.ts",
    "main.ts",
  ]],
  ["schemas", /from "zod"/, [
    "lib/settings.ts",
    "lib/api/",
    "lib/source/",
    "lib/http/webhook.ts",
  ]],
  ["parsers", /from "(yaml|smol-toml)"/, ["lib/content/parse_data.ts"]],
  ["types that tests alone need", /from "@octokit\//, []],
  ["packages without the import map", /from "(jsr|npm|https?):/, []],
];

function isUnder(path: string, places: readonly string[]): boolean {
  return places.some((place) =>
    place.endsWith("/") ? path.startsWith(place) : path === place
  );
}

/**
 * Files that import each other: what is left without those that import nothing
 * of the rest, or that nothing of it imports.
 */
function findCycles(
  files: readonly Pick<SourceFile, "path" | "files">[],
): string[] {
  const left = new Map(files.map(({ path, files }) => [path, files]));
  for (let size = 0; size !== left.size;) {
    size = left.size;
    for (const [path, imported] of left) {
      const isImported = [...left.values()].some((files) =>
        files.includes(path)
      );
      if (!isImported || !imported.some((file) => left.has(file))) {
        left.delete(path);
      }
    }
  }
  return [...left.keys()];
}

Deno.test("importedBy() sees every form of import and none in comments", () => {
  const files = [
    'import "./effect.ts";',
    'import type { A } from "./types.ts";',
    'import {\n  b,\n} from "./lines.ts";',
    'export * from "./again.ts";',
    `const c = await ${"import"}("./late.ts");`,
  ];
  const others = [
    '// import { no } from "./no.ts";',
    'const from = "./no.ts";',
    'import "zod";',
  ];
  const names = ["effect", "types", "lines", "again", "late"].map((name) =>
    `./${name}.ts`
  );
  assertEquals(importedBy([...files, ...others].join("\n")), names);
});

Deno.test("imports make no cycle, not even of types", () => {
  const [a, b, c] = [["a.ts", "b.ts"], ["b.ts", "a.ts", "c.ts"], ["c.ts"]]
    .map(([path, ...files]) => ({ path: path!, files }));
  const top = { path: "top.ts", files: ["a.ts"] };
  assertEquals([findCycles([top, a!, b!, c!]), findCycles([top, a!, c!])], [[
    "a.ts",
    "b.ts",
  ], []]);
  assert(serving.length > 50);
  assertEquals(findCycles(serving), []);
});

Deno.test("imports go down only and never to tests or benches", () => {
  const paths = sources.map(({ path }) => path);
  assertEquals(
    LEAVES.filter((leaf) => !paths.some((path) => isUnder(path, [leaf]))),
    [],
  );
  for (const { path, files } of serving) {
    const others = files.filter((file) => !isUnder(file, allowedFor(path)));
    assertEquals([path, others], [path, []]);
  }
});

Deno.test("packages, settings and status codes stay in their place", () => {
  const service = serving.filter(({ path }) =>
    !/^(jsr|packages|static)\//.test(path)
  );
  for (const [what, text, places] of PLACES) {
    // Examples in comments may make parts of their own.
    const found = service.filter((file) =>
      text.test(file.text.replaceAll(/^ *\* .*$/gm, ""))
    )
      .map(({ path }) => path);
    assertEquals([what, found.filter((path) => !isUnder(path, places))], [
      what,
      [],
    ]);
    assert(
      places.length === 0 || found.length > 0,
      `${what}: nothing has it any more`,
    );
  }
});

Deno.test("files have names in snake case and a first line", () => {
  const odd = sources.map(({ path }) => path).filter((path) =>
    !path.startsWith("routes/") &&
    !/^([a-z0-9_]+\/)*([a-z0-9]+_)*[a-z0-9]+(\.d)?\.ts$/.test(path)
  );
  assertEquals(odd, ["fresh.config.ts"]);
  for (const { path, text } of serving) {
    if (!path.startsWith("lib/")) continue;
    assert(text.startsWith("// "), `${path} does not open with its job`);
    assert(!/\/(index|mod|utils?|helpers?|common)\.ts$/.test(path), path);
  }
});
