// A folder's front matter beside the objects of its repository, by blob id, so that it outlives this process. A blob id
// is its content: what is kept is right for as long as it is there, whatever commits come.

import { Slices } from "../give_way.ts";
import type { Reading } from "./find_entry.ts";
import type { FileFrontMatter } from "./front_matter.ts";

/** Counts up when the same bytes are read as something else than before. */
const FORMAT = 1;
/** Characters of JSON that are kept of one folder. */
const MAX_CHARS = 8 << 20;

/** What is kept of a folder; empty where nothing is, or where it cannot be read. */
export async function keptFrontMatter(
  folder: string,
  { repository, snapshot }: Reading,
): Promise<Map<string, FileFrontMatter>> {
  const bytes = await repository.keptDerived?.(snapshot, keyOf(folder)) ?? null;
  if (bytes === null) return new Map();
  try {
    return new Map<string, FileFrontMatter>(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return new Map();
  }
}

/** Keeps what there is room for, the first first; what could not be read is left out. */
export async function keepFrontMatter(
  folder: string,
  { repository, snapshot }: Reading,
  values: ReadonlyMap<string, FileFrontMatter | Error>,
): Promise<void> {
  const entries: string[] = [];
  const slices = new Slices();
  let chars = 0;
  for (const entry of values) {
    if (slices.isOver()) await slices.giveWay();
    if (entry[1] instanceof Error) continue;
    const json = JSON.stringify(entry);
    chars += json.length + 1;
    if (chars > MAX_CHARS) break;
    entries.push(json);
  }
  const bytes = new TextEncoder().encode(`[${entries.join(",")}]`);
  await repository.keepDerived?.(snapshot, keyOf(folder), bytes);
}

function keyOf(folder: string): string {
  return `front-matter ${FORMAT} ${folder}`;
}
