// The corpus: every row.

import type { Row } from "./row.ts";
import { BROKEN_SOURCE_ROWS } from "./rows/broken_source.ts";
import { CMS_ROWS } from "./rows/cms.ts";
import { CONNECTION_ROWS } from "./rows/connections.ts";
import { DATA_FILE_ROWS } from "./rows/data_files.ts";
import { FRONT_MATTER_ROWS } from "./rows/front_matter.ts";
import { LFS_ROWS } from "./rows/lfs.ts";
import { MARKDOWN_ROWS } from "./rows/markdown.ts";
import { NAME_ROWS } from "./rows/names.ts";
import { REQUEST_ROWS } from "./rows/requests.ts";
import { SEARCH_ROWS } from "./rows/search.ts";

/** Every row, in the order in which they run. */
export const ROWS: readonly Row[] = [
  ...NAME_ROWS,
  ...FRONT_MATTER_ROWS,
  ...MARKDOWN_ROWS,
  ...SEARCH_ROWS,
  ...DATA_FILE_ROWS,
  ...LFS_ROWS,
  ...CMS_ROWS,
  ...REQUEST_ROWS,
  ...CONNECTION_ROWS,
  ...BROKEN_SOURCE_ROWS,
];

/**
 * The rows of these names, in that order. @throws {Error} for a name that none
 * has.
 */
export function rowsNamed(names: readonly string[]): readonly Row[] {
  return names.map((name) => {
    const row = ROWS.find((row) => row.name === name);
    if (row !== undefined) return row;
    throw new Error(`Cannot find "${name}": the corpus has no such row`);
  });
}
