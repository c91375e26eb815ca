// Git LFS: pointers, and the objects that they name.

import { createHash } from "node:crypto";
import { pointerTo } from "../../../tests/github/github_lfs.ts";
import { type Files, flood, many, requests, type Row } from "../row.ts";

const MAX_BYTES = 10_000_000;

/** A local folder with pointers, and the objects where a checkout has them. */
function lfsFiles(extension: string, contents: readonly string[]): Files {
  return contents.flatMap((content, n) => {
    const id = createHash("sha256").update(content).digest("hex");
    const object = `.git/lfs/objects/${id.slice(0, 2)}/${id.slice(2, 4)}/${id}`;
    return [
      [`posts/${n}.${extension}`, pointerTo(content)] as const,
      [object, content] as const,
    ];
  });
}

export const LFS_ROWS: readonly Row[] = [
  {
    // The largest objects, each of which is hashed whenever it is read.
    name: "lfs-large",
    attacker: "author",
    folder: () =>
      lfsFiles(
        "bin",
        many(12, (n) => `${n}`.repeat(MAX_BYTES / `${n}`.length)),
      ),
    attack: flood(
      { times: 40, atOnce: 20 },
      (n, { item }) => item({ path: `posts/${n % 12}.bin`, format: "raw", n }),
    ),
  },
  {
    name: "lfs-page",
    attacker: "author",
    folder: () =>
      lfsFiles("md", many(100, (n) => `# ${n}\n${"a *b* ".repeat(6_000)}`)),
    attack: flood(
      { times: 20, atOnce: 10 },
      (n, { list }) => list({ includeHtml: true, limit: 100 - n }),
    ),
  },
  {
    // Pointers that claim sizes which their objects do not have, and objects
    // that are missing.
    name: "lfs-pointers",
    attacker: "author",
    folder: () =>
      many(20_000, (n) =>
        [
          `posts/${n}.md`,
          pointerTo(`${n}`).replace(/size .*/, `size ${n * 500}`),
        ] as const),
    attack: requests(
      ({ list }) => list({ includeContent: true, limit: 100 }),
      ({ list }) => list({ includeFrontMatter: true, limit: 1_000 }),
      ({ list }) => list({ sort: "frontMatter.a" }),
      ({ list }) => list({ search: "version" }),
    ),
  },
];
