// Which collections a repository itself declares, by the configuration files of the systems that people edit it with.
// A file that cannot be read costs a warning and nothing else. Reading files is not done here.

import { DataError } from "./data_error.ts";
import { decapCmsCollections } from "./decap_cms.ts";
import type { DeclaredCollection } from "./declared_collection.ts";
import { jekyllCollections } from "./jekyll.ts";
import { pagesCmsCollections } from "./pages_cms.ts";
import { parseData } from "./parse_data.ts";
import { isPlainObject, type PlainObject, type PlainValue } from "./plain_data.ts";

/** Configurations repeat whole lists of fields by alias, and are read once a repository, not once a file. */
const LIMITS = { maxChars: 256 * 1024, maxTokens: 30_000, maxRepeatedChars: 1024 * 1024 };

/** Collections of one file; people have dozens. */
const MAX_COLLECTIONS = 200;

type Reader = (config: PlainObject, source: string) => DeclaredCollection[];

const READERS: ReadonlyMap<string, Reader> = new Map([
  [".pages.yml", pagesCmsCollections],
  ["admin/config.yml", decapCmsCollections],
  ["static/admin/config.yml", decapCmsCollections],
  ["public/admin/config.yml", decapCmsCollections],
  ["_config.yml", jekyllCollections],
  ["_config.yaml", jekyllCollections],
  ["_config.toml", jekyllCollections],
]);

/** Where configurations are looked for, from the repository's root, first match first. */
export const CONFIG_FILES: readonly string[] = [...READERS.keys()];

/** What one configuration file declares, in its own order, and one sentence where that is not all of it. */
export interface Declarations {
  readonly collections: readonly DeclaredCollection[];
  readonly warning: string | null;
}

/** Reads the text of one of {@linkcode CONFIG_FILES}; any other path declares nothing. */
export async function declaredCollections(path: string, text: string): Promise<Declarations> {
  const reader = READERS.get(path);
  if (reader === undefined) return { collections: [], warning: null };
  try {
    const config = await parseConfig(path, text);
    if (!isPlainObject(config)) throw new DataError("The text is not a mapping", 1);
    const collections = firstOfEachName(reader(config, path));
    const warning = collections.length > MAX_COLLECTIONS
      ? `Cannot read "${path}" whole: it declares more than ${MAX_COLLECTIONS} collections`
      : null;
    return { collections: collections.slice(0, MAX_COLLECTIONS), warning };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    const warning = `Cannot read "${path}": ${error.message} (line ${error.line})`;
    return { collections: [], warning };
  }
}

function firstOfEachName(collections: readonly DeclaredCollection[]): DeclaredCollection[] {
  const seen = new Set<string>();
  return collections.filter(({ name }) => !seen.has(name) && seen.add(name));
}

function parseConfig(path: string, text: string): Promise<PlainValue> {
  // A byte order mark is no part of the document.
  const document = text.replace(/^\ufeff/, "");
  return parseData(document, { format: path.endsWith(".toml") ? "toml" : "yaml", ...LIMITS });
}
