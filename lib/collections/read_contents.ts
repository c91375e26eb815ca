// Reads the contents of files. The content of a Git LFS pointer is the object
// that it names.

import {
  type LfsPointer,
  MAX_POINTER_BYTES,
  parseLfsPointer,
} from "../content/lfs_pointer.ts";
import { blobKind, type BlobResult, type FileRef } from "../source/source.ts";
import { FREE_BYTES } from "./derive.ts";
import { type ReadContext, repositoryOf } from "./read_context.ts";

/** A file. `lfs` is set if it turned out to be a pointer. */
export type ContentFile = FileRef & { lfs?: LfsPointer };

/** Returns the blob or Git LFS object that holds the content of a file. */
export const contentRef = ({ path, id, size, lfs }: ContentFile): FileRef =>
  lfs ? { path, id: lfs.oid, size: lfs.size } : { path, id, size };

/** Returns a copy of a file. Its pointer is set if the blob is in memory. */
export function withPointer(file: ContentFile, read: ReadContext): ContentFile {
  const bytes = read.objects.peek(blobKind, repositoryOf(read), file.id);
  const lfs = bytes && parseLfsPointer(bytes);
  return { ...file, ...(lfs && { lfs }) };
}

/**
 * Finds out which files are pointers, and sets `lfs` on them. Returns what was
 * read for that, and what `admit` throws for the objects, by the ids of
 * {@linkcode contentRef}. Reads all files if they are few bytes, to read them
 * at once, and otherwise only those that are small enough for a pointer.
 */
export async function findObjects(
  files: readonly ContentFile[],
  admit: (object: FileRef) => unknown,
  { source, snapshot, context }: ReadContext,
): Promise<Map<string, BlobResult>> {
  const unknown = files.filter(({ lfs }) => !lfs);
  const bytes = unknown.reduce((sum, { size }) => sum + size, 0);
  const maxBytes = bytes <= FREE_BYTES ? FREE_BYTES : MAX_POINTER_BYTES;
  const few = unknown.filter(({ size }) => size <= maxBytes);
  const found = new Map(await source.blobs(snapshot, few, context));
  const admitted = new Set<string>();
  for (const file of few) {
    const bytes = found.get(file.id)!;
    const lfs = bytes instanceof Error ? null : parseLfsPointer(bytes);
    if (lfs === null) continue;
    file.lfs = lfs;
    try {
      await admit(contentRef(file));
      admitted.add(lfs.oid);
    } catch (error) {
      // Several files may have the same object.
      if (!admitted.has(lfs.oid)) found.set(lfs.oid, error as Error);
    }
  }
  return found;
}

/**
 * Returns contents by the ids of {@linkcode contentRef}. Sets `lfs` on files
 * that are pointers. `admit` throws for objects that must not be read.
 * `reserve` is called once their sizes are known, before more than a few bytes
 * are read.
 */
export async function readContents(
  files: readonly ContentFile[],
  admit: (object: FileRef) => unknown,
  read: ReadContext,
  reserve?: () => Promise<void>,
): Promise<Map<string, BlobResult>> {
  const { source, snapshot, context } = read;
  const contents = await findObjects(files, admit, read);
  await reserve?.();
  const rest = files.map(contentRef).filter(({ id }) => !contents.has(id));
  for (const [id, bytes] of await source.blobs(snapshot, rest, context)) {
    contents.set(id, bytes);
  }
  return contents;
}

/**
 * Returns the content of one file. Sets `lfs` if it is a pointer.
 * @throws what `admit` throws, for the file too. A source failure.
 */
export async function readContent(
  file: ContentFile,
  admit: (object: FileRef) => unknown,
  read: ReadContext,
): Promise<Uint8Array<ArrayBuffer>> {
  await admit(file);
  const contents = await readContents([file], admit, read);
  const bytes = contents.get(contentRef(file).id)!;
  if (bytes instanceof Error) throw bytes;
  return bytes;
}
