// The ids that Git gives to contents. They are SHA-1 over a short header and
// the content (git-hash-object, gitformat-pack). Computed ids and those of Git
// or GitHub can check each other. All ids are 40 hex digits. Git LFS names an
// object by the 64 digits of its SHA-256.

import { Buffer } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import { type Task, whole } from "../thread/compute.ts";
import { STEPS_PER_YIELD, yieldToEventLoop } from "../work/clock.ts";

/** Bytes of an id in binary form. */
export const ID_BYTES = 20;

export type GitMode = "100644" | "100755" | "120000" | "40000" | "160000";

/**
 * One entry of a tree object. `name` is a single path segment. `id` is that of
 * the named object.
 */
export interface TreeObjectEntry {
  readonly name: string;
  readonly mode: GitMode;
  readonly id: string;
}

export function blobId(bytes: Uint8Array): string {
  return blobHash(bytes.length).update(bytes).digest("hex");
}

/** Returns whether an id is that of a Git LFS object. */
export const isLfsId = (id: string) => id.length === 64;

/** Returns whether bytes are the blob or Git LFS object with this id. */
export function hasId(bytes: Uint8Array, id: string): boolean {
  return hashOf(id, bytes.length).update(bytes).digest("hex") === id;
}

/**
 * Returns a hash for the blob or Git LFS object of `size` bytes with this id.
 */
export const hashOf = (id: string, size: number): Hash =>
  isLfsId(id) ? createHash("sha256") : blobHash(size);

/**
 * Returns a hash for a file of `size` bytes. Its `digest("hex")` is the blob id
 * after all parts of the file were added.
 */
export function blobHash(size: number): Hash {
  return createHash("sha1").update(`blob ${size}\0`);
}

/**
 * Returns the id of the tree object with these entries in any order. Strings of
 * one byte a character take much less time than a buffer for each entry.
 */
export function treeId(entries: readonly TreeObjectEntry[]): string {
  const keys = keysIn(Buffer.from(entries.map(orderKey).join("")));
  const ids = latin1Of(
    Uint8Array.fromHex(entries.map(({ id }) => id).join("")),
  );
  let content = "";
  for (const index of orderOf(keys)) {
    const { mode } = entries[index]!;
    const name = mode === "40000" ? keys[index]!.slice(0, -1) : keys[index]!;
    const id = ids.slice(index * ID_BYTES, (index + 1) * ID_BYTES);
    content += `${mode} ${name}\0${id}`;
  }
  return createHash("sha1").update(`tree ${content.length}\0`)
    .update(content, "latin1").digest("hex");
}

/**
 * Returns the same id as {@linkcode treeId} for entries that are already in the
 * order of a tree object. Yields to the event loop.
 */
export async function treeIdOfSorted(
  entries: readonly TreeObjectEntry[],
): Promise<string> {
  let length = 0;
  for (const [index, { mode, name, id }] of entries.entries()) {
    if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    length += mode.length + Buffer.byteLength(name) + 2 + id.length / 2;
  }
  const hash = createHash("sha1").update(`tree ${length}\0`);
  for (const [index, { mode, name, id }] of entries.entries()) {
    if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    hash.update(`${mode} ${name}\0`).update(id, "hex");
  }
  return hash.digest("hex");
}

/**
 * Orders the entries of a folder as in a tree object. `keys` joins the
 * {@linkcode orderKey} of each entry in UTF-8. Returns the indices of the
 * entries in order.
 */
export const orderTask: Task<{ keys: Uint8Array<ArrayBuffer> }, Uint32Array> = {
  ...whole("order", () => Promise.resolve(({ keys }) => orderOf(keysIn(keys)))),
  moveInput: ({ keys }) => [keys.buffer],
};

/**
 * Git orders entries by the bytes of their names. A folder sorts as if its name
 * ended in a slash.
 */
export const orderKey = ({ name, mode }: TreeObjectEntry): string =>
  mode === "40000" ? `${name}/\0` : `${name}\0`;

/** Splits what `orderTask` gets. The strings have one byte a character. */
const keysIn = (bytes: Uint8Array) => latin1Of(bytes).split("\0").slice(0, -1);

const latin1Of = ({ buffer, byteOffset, length }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, length).toString("latin1");

/** Returns the indices of keys in order. The engine compares them as bytes. */
function orderOf(keys: readonly string[]): Uint32Array {
  return Uint32Array.from(keys, (_, index) => index)
    .sort((a, b) => keys[a]! < keys[b]! ? -1 : 1);
}
