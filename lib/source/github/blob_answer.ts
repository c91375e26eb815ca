// Parses GraphQL responses that have one aliased `object` per blob
// (docs.github.com/graphql, type Blob). The returned bytes have the requested
// ids.

import { sourceFailed } from "../../errors.ts";
import { type Task, whole } from "../../thread/compute.ts";
import { blobId } from "../git_object_id.ts";
import { parseJson } from "./json.ts";

/** A blob has a few, and its error about twelve. */
const VALUES_PER_BLOB = 50;

interface BlobAnswer {
  /** The bytes of each blob. Null if GitHub did not send it whole and exact. */
  blobs: readonly (Uint8Array<ArrayBuffer> | null)[];
  /** Indices of blobs that are missing from a response with errors. */
  failed: readonly number[];
}

/**
 * Parses one response. Its aliases are `f0`, `f1` and so on in the order of
 * `ids`.
 */
export const readBlobsTask: Task<
  { answer: Uint8Array<ArrayBuffer>; ids: readonly string[] },
  BlobAnswer
> = {
  ...whole("read-blobs", () => Promise.resolve(readBlobAnswer)),
  moveInput: ({ answer }) => [answer.buffer],
  moveOutput: ({ blobs }) => blobs.flatMap((bytes) => bytes?.buffer ?? []),
};

/**
 * @throws {CollectionsError} source-failed if the response has another shape.
 */
function readBlobAnswer(
  { answer, ids }: { answer: Uint8Array; ids: readonly string[] },
): BlobAnswer {
  const maxValues = 1_000 + VALUES_PER_BLOB * ids.length;
  const { data, errors } = objectOf(parseJson(answer, maxValues));
  if (errors !== undefined && !Array.isArray(errors)) throw unusable();
  const repository = objectOf(objectOf(data ?? {}).repository ?? {});
  const failed: number[] = [];
  const blobs = ids.map((id, index) => {
    const blob = Object.hasOwn(repository, `f${index}`)
      ? repository[`f${index}`]
      : null;
    if (blob === null || blob === undefined) {
      if (errors !== undefined) failed.push(index);
      return null;
    }
    const bytes = new TextEncoder().encode(`${objectOf(blob).text ?? ""}`);
    return blobId(bytes) === id ? bytes : null;
  });
  return { blobs, failed };
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw unusable();
  }
  return value as Record<string, unknown>;
}

const unusable = () =>
  sourceFailed('Cannot read "answer": it has another shape');
