// The fields of a file that need none of its bytes, in both operations.

import type { ItemBody } from "../api/contract.ts";
import { itemPathProblem } from "../api/names.ts";
import { itemUrl } from "../api/parameters.ts";
import { contentTypeOf, fileName, slugOf } from "../content/file_names.ts";
import type { ListedFile } from "../source/file_list.ts";
import type { FileRef } from "../source/source.ts";
import { knownPointer } from "./read_files.ts";
import type { ReadContext } from "./read_context.ts";
import { type CollectionFolder, pathIn } from "./resolve_collection.ts";

/** The fields of a file that need none of its bytes. */
export function fileBody(
  { path, id, size, lfs: given }: FileRef & Pick<ItemBody, "lfs">,
  read: ReadContext,
): Omit<ItemBody, "slug"> {
  const { source, snapshot, baseUrl } = read;
  const lfs = given ?? knownPointer(id, read);
  const { name: { owner, repo }, branch } = snapshot;
  const name = fileName(path);
  const isReadable = itemPathProblem(path) === null;
  return {
    name,
    path,
    sha: id,
    size: lfs?.size ?? size,
    lfs,
    contentType: contentTypeOf(name),
    contentUrl: isReadable ? itemUrl(baseUrl, { owner, repo, branch, path }) : undefined,
    htmlUrl: source.webUrl(snapshot, path) ?? undefined,
  };
}

/** An item of a collection, without its contents. */
export function itemOf(file: ListedFile, folder: CollectionFolder, read: ReadContext): ItemBody {
  const whole = { ...file, path: pathIn(folder.path, file.path) };
  const { name, path, ...others } = fileBody(whole, read);
  return { name, path, slug: slugOf(file.path), ...others };
}
