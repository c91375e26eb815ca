// What both operations say of a file, so that a list and a file's own answer agree.

import type { ItemBody } from "../api/contract.ts";
import { itemUrl } from "../api/urls.ts";
import type { FileRef } from "../repository/repository.ts";
import { contentTypeOf } from "./content_type.ts";
import { fileName } from "./file_name.ts";
import type { Reading } from "./find_entry.ts";

/** The fields of a file that need none of its bytes. */
export type FileBody = Pick<
  ItemBody,
  "name" | "path" | "sha" | "size" | "contentType" | "contentUrl" | "htmlUrl"
>;

/** A file as JSON; its addresses begin with `baseUrl`. */
export function fileBody(
  { path, id, size }: FileRef,
  { baseUrl, reading }: { baseUrl: string; reading: Reading },
): FileBody {
  const { repository, snapshot } = reading;
  const { owner, repo } = snapshot.name;
  const name = fileName(path);
  const htmlUrl = repository.htmlUrl(snapshot, path);
  return {
    name,
    path,
    sha: id,
    size,
    contentType: contentTypeOf(name),
    contentUrl: itemUrl(baseUrl, { owner, repo, branch: snapshot.branch, path }),
    ...(htmlUrl === null ? {} : { htmlUrl }),
  };
}
