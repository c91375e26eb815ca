// Configurations of content management systems, which a search for a collection
// reads: each close to a limit, and each searched by many names.

import { makeGitRepository } from "../../../tests/github/git_repository.ts";
import { flood, gitFiles, many, repeat, type Row } from "../row.ts";

/** A configuration has at most as many characters. */
const MAX_CHARS = 262_000;
/** Collections that are read of one configuration. */
const COLLECTIONS = 200;

/** Every configuration file that is read; the last one is TOML. */
const YAML_FILES = [
  ".pages.yml",
  "admin/config.yml",
  "static/admin/config.yml",
  "public/admin/config.yml",
  "_config.yml",
  "_config.yaml",
];

/**
 * A row with this text in every configuration; each request searches for
 * another collection.
 */
function configurations(
  name: string,
  yaml: () => string,
  toml = () => "a = 1\n",
): Row {
  return {
    name,
    attacker: "author",
    repository: () => {
      const text = yaml();
      return makeGitRepository(gitFiles([
        ["posts/a.md", "x"],
        ...YAML_FILES.map((path, n) => [path, `# ${n}\n${text}`] as const),
        ["_config.toml", toml()],
      ]));
    },
    attack: flood(
      { times: 40, atOnce: 10 },
      (n, { list }) => list({ collection: `c${n % 20}-${n}` }),
    ),
  };
}

const collections = (entry: (n: number) => string) =>
  `collections:\n${repeat(COLLECTIONS, (n) => `  - ${entry(n)}\n`)}`;

/**
 * Mappings that take over each other: to look for a key in the first is to look
 * into all below it.
 */
const MERGES = (() => {
  const levels = many(
    15,
    (n) =>
      n === 0
        ? "m0: &m0 { a: 1 }\n"
        : `m${n}: &m${n} { <<: [*m${n - 1}, *m${n - 1}] }\n`,
  );
  return `${levels.join("")}collections: [${
    repeat(8, () => "{ <<: *m12 },")
  }]\n`;
})();

export const CMS_ROWS: readonly Row[] = [
  configurations(
    "cms-tokens",
    () =>
      collections((n) =>
        `{ name: c${n}, folder: posts, x: [${repeat(60, () => "a,")}] }`
      ),
    () => repeat(9_000, (n) => `k${n} = [1]\n`),
  ),
  configurations(
    "cms-aliases",
    () =>
      `f: &f [${repeat(1_000, () => "aaaa,")}]\n` +
      collections((n) => `{ name: c${n}, folder: posts, fields: *f }`),
  ),
  configurations("cms-merges", () => MERGES),
  configurations(
    "cms-errors",
    () => `a: "${"\\q".repeat(MAX_CHARS / 2 - 100)}"`,
    () => `a = "${"\\q".repeat(MAX_CHARS / 2 - 100)}"`,
  ),
  configurations(
    "cms-numbers",
    () => `a: ${"9".repeat(MAX_CHARS - 100)}`,
    () => `a = ${"9".repeat(MAX_CHARS - 100)}`,
  ),
  configurations(
    "cms-folders",
    () =>
      collections((n) =>
        `{ name: c${n % 20}-${n}, folder: "${
          many(250, () => "a").join("/")
        }/${n}" }`
      ),
  ),
  {
    // Each collection repeats fields by an alias.
    name: "cms-fields",
    attacker: "author",
    repository: () => {
      const fields = (n: number) =>
        `f: &f [${repeat(n, () => "{name: a},")}]\n` +
        collections((n) => `{ name: c${n}, folder: posts, fields: *f }`);
      return makeGitRepository(gitFiles([
        ["posts/a.md", "x"],
        ...YAML_FILES.slice(1, 4).map((path, n) =>
          [path, `# ${n}\n${fields(400)}`] as const
        ),
      ]));
    },
    attack: flood(
      { times: 12, atOnce: 4 },
      (n, { collections }) =>
        collections({ path: n % 2 === 0 ? "posts" : "admin", n }),
    ),
  },
  {
    // A rule of 900,000 characters, by aliases.
    name: "cms-exclude",
    attacker: "author",
    repository: () =>
      makeGitRepository(gitFiles([
        [
          ".pages.yml",
          `a: &a "${"€".repeat(100_000)}"\ncontent:\n  - { name: c, ` +
          `type: collection, path: posts, exclude: [${
            repeat(9, () => "*a, ")
          }x] }\n`,
        ],
        ...many(
          50,
          (n) => [`posts/${n}.md`, `---\nk: ${n}\n---\nx\n`] as const,
        ),
      ])),
    attack: flood(
      { times: 110, atOnce: 110 },
      (n, { list }) => list({ collection: "c", "filter[path]": `!x${n}` }),
    ),
  },
  {
    // A template for paths is a glob over every file of the folder.
    name: "cms-globs",
    attacker: "author",
    repository: () =>
      makeGitRepository(gitFiles([
        [
          "admin/config.yml",
          collections((n) =>
            `{ name: c${n}, folder: posts, extension: md, path: "${
              "{{x}}a".repeat(18)
            }${n}" }`
          ),
        ],
        ...many(
          6_000,
          (n) => [`posts/${n}${"a".repeat(240)}.md`, "x"] as const,
        ),
      ])),
    first: ({ list }) => [list({ limit: 1 })],
    attack: flood(
      { times: 40, atOnce: 10 },
      (n, { list }) => list({ collection: `c${n}` }),
    ),
  },
];
