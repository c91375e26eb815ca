// One file's bytes, for those who need them or fail.

import type { FileRef } from "../repository/repository.ts";
import type { Reading } from "./find_entry.ts";

/** The bytes of one file. @throws {CollectionsError} a source failure. */
export async function readBlob(
  file: FileRef,
  { repository, snapshot, caller }: Reading,
): Promise<Uint8Array<ArrayBuffer>> {
  const result = (await repository.readBlobs(snapshot, [file], caller)).get(file.id)!;
  if (result instanceof Error) throw result;
  return result;
}
