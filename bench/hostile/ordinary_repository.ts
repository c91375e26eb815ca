// Repositories that nobody made to be slow: what a service reads before it is
// attacked, and what other clients read meanwhile.

import type { Files } from "./row.ts";

/** Posts of a repository that another client sorts. */
export const BYSTANDER_POSTS = 1_000;

/** Posts with front matter, every second one in TOML, and a few paragraphs. */
export function* ordinaryFiles(count: number): Files {
  for (let n = 0; n < count; n++) {
    const day = `${2000 + n % 25}-${`${1 + n % 12}`.padStart(2, "0")}-${
      `${1 + n % 28}`.padStart(2, "0")
    }`;
    const head = n % 2 === 0
      ? `---\ntitle: Post ${n}\ndate: ${day}\ntags: [a, b${n % 7}]\n---\n`
      : `+++\ntitle = "Post ${n}"\ndate = ${day}\ntags = ["a", "b${
        n % 7
      }"]\n+++\n`;
    const link = `[next](${n + 1}.md)`;
    yield [
      `posts/${n}.md`,
      `${head}# Post ${n}\n\nSome *text* with a ${link}.\n\n- one\n- two\n`,
    ];
  }
}
