// Reads files, and tells which of them are Git LFS pointers. A pointer is known from the first time that its blob is read
// on, whatever that was for, while there is room in memory.

import type { ObjectKind } from "../cache/object_cache.ts";
import { type LfsPointer, parseLfsPointer } from "../content/lfs_pointer.ts";
import type { BlobResult, Blobs, FileRef } from "../source/source.ts";
import { type ReadContext, repositoryOf } from "./read_context.ts";

/** By the id of the pointer's blob. */
const pointerKind: ObjectKind<LfsPointer> = { name: "lfs-pointer", sizeOf: () => 250 };

/** The pointer that a blob is, where that is known. */
export function knownPointer(id: string, read: ReadContext): LfsPointer | undefined {
  return read.objects.peek(pointerKind, repositoryOf(read), id);
}

/** The blobs of files, as the port gives them. */
export async function readBlobs(files: readonly FileRef[], read: ReadContext): Promise<Blobs> {
  return (await readPointers(files, read)).blobs;
}

/**
 * The contents of files by their ids; in the place of a pointer the object that it names, if `refuse` has nothing against
 * its size.
 */
export async function readFiles(
  files: readonly FileRef[],
  refuse: (path: string, size: number) => Error | null,
  read: ReadContext,
): Promise<{ readonly blobs: Blobs; readonly pointers: ReadonlyMap<string, LfsPointer> }> {
  const { blobs, pointers } = await readPointers(files, read);
  if (pointers.size === 0) return { blobs, pointers };
  const contents = new Map<string, BlobResult>(blobs);
  const objects: FileRef[] = [];
  for (const { path, id } of new Map(files.map((file) => [file.id, file])).values()) {
    const pointer = pointers.get(id);
    if (pointer === undefined) continue;
    const error = refuse(path, pointer.size);
    if (error !== null) contents.set(id, error);
    else objects.push({ path, id: pointer.oid, size: pointer.size });
  }
  const found = await read.source.blobs(read.snapshot, objects, read.context);
  for (const [id, { oid }] of pointers) {
    const object = found.get(oid);
    if (object !== undefined && !(contents.get(id) instanceof Error)) contents.set(id, object);
  }
  return { blobs: contents, pointers };
}

async function readPointers(files: readonly FileRef[], read: ReadContext) {
  const { source, snapshot, context, objects } = read;
  const blobs = await source.blobs(snapshot, files, context);
  const pointers = new Map<string, LfsPointer>();
  for (const [id, bytes] of blobs) {
    // The bytes of an LFS object may look like a pointer, and are none.
    const pointer = bytes instanceof Error || id.length === 64 ? null : parseLfsPointer(bytes);
    if (pointer === null) continue;
    pointers.set(id, pointer);
    objects.set(pointerKind, repositoryOf(read), id, pointer);
  }
  return { blobs, pointers };
}
