// Runs the code of sorted lists on sample posts so that V8 compiles it.

import { FileListBuilder } from "../source/file_list.ts";
import { unlimited } from "../thread/compute.ts";
import { derive } from "./derive.ts";
import { derivedKey } from "./file_names.ts";
import { select } from "./select.ts";

/** No repository has this name. */
const repository = "";
const FILES = 100;
const POSTS = [
  `---
title: "A post"
date: 2026-01-31
tags: [one, two]
draft: false
---
`,
  `+++
title = "A post"
date = 2026-01-31
tags = ["one", "two"]
draft = false
+++
`,
].map((text) => new TextEncoder().encode(text));

/**
 * Derives and sorts some usual files. The thread keeps their front matter.
 * Returns what {@linkcode select} returns.
 */
export function warmUp() {
  const list = new FileListBuilder();
  for (let index = 0; index < FILES; index++) {
    const id = index.toString(16).padStart(40, "0");
    list.add({ path: `${index + FILES}.md`, id, size: POSTS[0]!.length });
  }
  const files = list.build();
  const inputs = Array.from({ length: FILES }, (_, index) => ({
    id: derivedKey(files.at(index)),
    bytes: POSTS[index % POSTS.length]!,
  }));
  derive({ repository, files: inputs }, unlimited);
  return select({
    repository,
    folder: "",
    files: files.bytes,
    rule: undefined,
    sort: "-frontMatter.date",
    filter: [],
    facets: [],
    maxItemBytes: Infinity,
  }, unlimited);
}
