// GitHub's answer to `git/trees/{id}?recursive=1` for very many files, as bytes: what a listing is made from.

import { noise } from "./sample_bytes.ts";

const API = "https://api.github.com/repos/octo/large/git";

/** The answer for `count` files in folders of 1,000, ids all different, in Git's order as GitHub has it. */
export function githubTreeAnswer(count: number): Uint8Array<ArrayBuffer> {
  const ids = noise(count * 20);
  const tree: Record<string, unknown>[] = [];
  for (let index = 0; index < count; index++) {
    const folder = `d${String(Math.floor(index / 1_000)).padStart(4, "0")}`;
    const sha = ids.subarray(index * 20, index * 20 + 20).toHex();
    if (index % 1_000 === 0) {
      tree.push({ path: folder, mode: "040000", type: "tree", sha, url: `${API}/trees/${sha}` });
    }
    tree.push({
      path: `${folder}/a-post-with-a-title-of-usual-length-${String(index).padStart(6, "0")}.md`,
      mode: "100644",
      type: "blob",
      sha,
      size: 1_000 + index,
      url: `${API}/blobs/${sha}`,
    });
  }
  const sha = "0".repeat(40);
  return new TextEncoder().encode(
    JSON.stringify({ sha, url: `${API}/trees/${sha}`, tree, truncated: false }),
  );
}
