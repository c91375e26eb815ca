// A repository whose author means harm: names and contents that trouble parsers, headers and paths.

import type { JsonContent } from "../tests/github/serve_double.ts";

/** A folder far down, at the end of a way that a reader may take step by step. */
export const DEEP = "d/".repeat(150);

/** Contents by path. */
export const HOSTILE_FILES: Readonly<Record<string, JsonContent>> = {
  "posts/a.md": "---\ntitle: A\ndate: 2026-01-01\n---\n# A\n",
  "posts/with space.md": "# B\n",
  'posts/it\'s "quoted"; filename=b.md': "# C\n",
  "posts/100%.md": "# D\n",
  "posts/%2e%2e%2fx.md": "# E\n",
  "posts/back\\slash.md": "# F\n",
  "posts/ü 💥 \u202e.md": "# G\n",
  "posts/new\nline.md": "# H\n",
  "posts/?a=b&c#d.md": "# I\n",
  "posts/<script>.html": "<script>alert(1)</script>",
  "posts/__proto__": "x",
  "posts/constructor.md": "---\n__proto__: { a: 1 }\nconstructor: 2\n---\n",
  "posts/aliases.md": `---\na: &a [x,x,x,x,x,x,x,x,x]\n${
    Array.from("bcdefghij", (name, index) => {
      const last = "abcdefghi"[index];
      return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${last}`)}]\n`;
    }).join("")
  }---\n`,
  "posts/nested.md": `---\na: ${"[".repeat(10_000)}\n---\n`,
  "posts/nested-toml.md": `+++\na = ${"[".repeat(10_000)}\n+++\n`,
  "posts/open.md": `---\n${"- ".repeat(2_000)}`,
  "posts/link.md": { symlink: "../../../etc/passwd" },
  "posts/module": { submodule: "1".repeat(40) },
  [`${DEEP}deep.md`]: "# Deep\n",
  "%2e%2e/d.md": "# J\n",
  "content/ü b/c.md": "# K\n",
};
