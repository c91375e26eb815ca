// Reads a tree object as Git stores it: `mode SP name NUL id`, again and again, the id in 20 bytes.

/** One entry of a tree; `size` is null for anything but a blob. */
export interface GitTreeEntry {
  mode: string;
  type: "blob" | "tree" | "commit";
  name: string;
  oid: string;
  size: number | null;
}

/** The entries of a tree object, in Git's order, sizes not yet known. */
export function parseTree(bytes: Uint8Array): GitTreeEntry[] {
  const decoder = new TextDecoder();
  const entries: GitTreeEntry[] = [];
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(32, at);
    const nul = bytes.indexOf(0, space);
    const mode = decoder.decode(bytes.subarray(at, space)).padStart(6, "0");
    const type = mode === "040000" ? "tree" : mode === "160000" ? "commit" : "blob";
    const name = decoder.decode(bytes.subarray(space + 1, nul));
    const oid = bytes.subarray(nul + 1, nul + 21).toHex();
    entries.push({ mode, type, name, oid, size: null });
    at = nul + 21;
  }
  return entries;
}
