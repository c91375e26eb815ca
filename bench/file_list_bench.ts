// Listings of 100 and of 100,000 files: a page is to cost the same, and the whole is to come back from the key-value
// store in less than the time in which GitHub's own answer is parsed.

import { KvCache } from "../lib/cache/kv.ts";
import { paginate } from "../lib/collections/paginate.ts";
import { FileList } from "../lib/repository/file_list.ts";
import { parseRecursiveTree } from "../lib/repository/github_answers.ts";
import { githubTreeAnswer } from "./github_tree_answer.ts";

const COUNT = 100_000;
const MAX_BYTES = 40_000_000;
const LIMIT = 50;
const WANTED = "d0050/a-post-with-a-title-of-usual-length-050500.md";
const KEY = ["files", "octo/large", "0".repeat(40)];

const answer = githubTreeAnswer(COUNT);
const large = await listOf(answer);
const small = await listOf(githubTreeAnswer(100));
const bytes = large.toBytes();
if (large.length !== COUNT || large.byteLength > MAX_BYTES) {
  throw new Error(`Cannot accept "list": ${large.length} files in ${large.byteLength} bytes`);
}
console.log(
  `A FileList of ${COUNT} files takes ${(large.byteLength / 1e6).toFixed(1)} MB of memory ` +
    `(at most ${MAX_BYTES / 1e6} are wanted); GitHub's answer for them is ` +
    `${(answer.length / 1e6).toFixed(1)} MB.`,
);

const folder = await Deno.makeTempDir();
const cache = new KvCache(await Deno.openKv(`${folder}/kv`));
await cache.set(KEY, bytes, { ttlMs: 3_600_000 });
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

const pages = [
  { title: "100 files", files: small, page: 1 },
  { title: "100,000 files", files: large, page: 1 },
  { title: "100,000 files, page 2,000", files: large, page: COUNT / LIMIT },
];
for (const { title, files, page } of pages) {
  Deno.bench(`cut a page of 50 from ${title}`, { group: "page" }, () => {
    const { start, end } = paginate(files.length, { page, limit: LIMIT });
    for (let index = start; index < end; index++) files.at(index);
  });
}

Deno.bench("JSON.parse() of GitHub's answer", { group: "100,000 files", baseline: true }, () => {
  JSON.parse(new TextDecoder().decode(answer));
});

Deno.bench("parseRecursiveTree() of GitHub's answer", { group: "100,000 files" }, async () => {
  await parseRecursiveTree(answer, "file");
});

Deno.bench("FileList from bytes", { group: "100,000 files" }, () => {
  FileList.fromBytes(bytes);
});

Deno.bench("FileList from the key-value store", { group: "100,000 files" }, async () => {
  const entry = await cache.get(KEY);
  if (FileList.fromBytes(entry!.value)?.length !== COUNT) throw new Error("Cannot read the list");
});

Deno.bench("find() of one file", { group: "find" }, () => {
  if (large.find(WANTED) === null) throw new Error(`Cannot find "${WANTED}"`);
});

async function listOf(answer: Uint8Array<ArrayBuffer>): Promise<FileList> {
  const list = await parseRecursiveTree(answer, "file");
  if (list === null) throw new Error("Cannot list: the answer is truncated");
  return list;
}
