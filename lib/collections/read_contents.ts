// Reads the contents of files. The content of a Git LFS pointer is the object
// that it names.

import { type LfsPointer, parseLfsPointer } from "../content/lfs_pointer.ts";
import { blobKind, type BlobResult, type FileRef } from "../source/source.ts";
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
 * Returns contents by the ids of {@linkcode contentRef}. Sets `lfs` on files
 * that are pointers. `admit` throws for objects that must not be read.
 */
export async function readContents(
  files: readonly ContentFile[],
  admit: (object: FileRef) => unknown,
  { source, snapshot, context }: ReadContext,
): Promise<Map<string, BlobResult>> {
  const contents = new Map(
    await source.blobs(snapshot, files.map(contentRef), context),
  );
  const objects: FileRef[] = [];
  for (const file of files.filter(({ lfs }) => !lfs)) {
    const bytes = contents.get(file.id)!;
    const lfs = bytes instanceof Error ? null : parseLfsPointer(bytes);
    if (lfs === null) continue;
    file.lfs = lfs;
    const object = contentRef(file);
    try {
      await admit(object);
      objects.push(object);
    } catch (error) {
      contents.set(object.id, error as Error);
    }
  }
  for (const [id, bytes] of await source.blobs(snapshot, objects, context)) {
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
