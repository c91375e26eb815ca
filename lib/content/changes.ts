// Compares two lists of files by their paths and blob ids. No file is read.

import { Buffer } from "node:buffer";
import type { ChangedFileBody, RenamedFileBody } from "../api/contract.ts";
import { FileList, FileListBuilder } from "../source/file_list.ts";
import { compileRule, type EntryRule } from "./declared.ts";
import { fileName } from "./file_names.ts";

/** Maximum number of changes and of their bytes as JSON. */
export const MAX_CHANGES = { files: 10_000, bytes: 4 << 20 };

/** UTF-8 has no such byte. */
const AFTER_ALL = Uint8Array.of(0xff);

/** The files of a collection at one commit. */
export interface ChangesSide {
  /** The path of the folder from the repository's root. */
  readonly folder: string;
  readonly files: Uint8Array;
  readonly rule: EntryRule | undefined;
}

/**
 * Returns the changes as JSON in byte order of path. Null is a side without
 * files. Returns null for more changes than {@linkcode MAX_CHANGES}.
 */
export function compareLists(
  { before, after }: { before: ChangesSide | null; after: ChangesSide | null },
): Uint8Array<ArrayBuffer> | null {
  // Paths from the root are compared only if the folders differ.
  const isMoved = before?.folder !== after?.folder;
  const old = open(before, isMoved);
  const now = open(after, isMoved);
  const hasRule = before?.rule !== undefined || after?.rule !== undefined;
  const added: ChangedFileBody[] = [];
  const changed: ChangedFileBody[] = [];
  const gone: ChangedFileBody[] = [];
  let chars = 0;
  for (let a = 0, b = 0; a < old.list.length || b < now.list.length;) {
    const order = Buffer.compare(old.keyAt(a), now.keyAt(b));
    const earlier = order <= 0 ? a++ : -1;
    const later = order >= 0 ? b++ : -1;
    const isSame = order === 0 &&
      old.list.idAt(earlier) === now.list.idAt(later);
    if (isSame && !hasRule) continue;
    const was = old.entryAt(earlier);
    const is = now.entryAt(later);
    if (isSame && was !== null && is !== null) continue;
    if (was !== null && is !== null) changed.push(is);
    else if (is !== null) added.push(is);
    else if (was !== null) gone.push(was);
    const count = added.length + changed.length + gone.length;
    chars += (is ?? was)?.path.length ?? 0;
    if (count > MAX_CHANGES.files || chars > MAX_CHANGES.bytes) return null;
  }
  const json = JSON.stringify({ changed, ...withRenames(added, gone) });
  const bytes = new TextEncoder().encode(json);
  return bytes.length > MAX_CHANGES.bytes ? null : bytes;
}

function open(side: ChangesSide | null, fromRoot: boolean) {
  const list = side ? new FileList(side.files) : new FileListBuilder().build();
  const accepts = compileRule(side?.rule);
  const prefix = side?.folder ? `${side.folder}/` : "";
  return {
    list,
    /** Returns what orders the file. */
    keyAt(index: number): Uint8Array {
      if (index === list.length) return AFTER_ALL;
      if (!fromRoot) return list.pathBytes(index);
      return Buffer.from(prefix + list.pathAt(index));
    },
    /** Returns null for no index and for a file that is not an entry. */
    entryAt(index: number): ChangedFileBody | null {
      if (index < 0) return null;
      const { path, id, size } = list.at(index);
      return accepts(path) ? { path: prefix + path, sha: id, size } : null;
    },
  };
}

/**
 * Pairs added and removed files with the same content as Git does. Each added
 * file takes the first removed file, preferably the first of its own name.
 */
function withRenames(
  files: readonly ChangedFileBody[],
  gone: readonly ChangedFileBody[],
) {
  const left = new Set(gone);
  // The first file is at the end, where it is cheap to take.
  const reversed = gone.toReversed();
  const byName = Map.groupBy(reversed, nameKey);
  const byId = Map.groupBy(reversed, ({ sha }) => sha);
  const take = (candidates: ChangedFileBody[] = []) => {
    for (;;) {
      const file = candidates.pop();
      if (file === undefined || left.delete(file)) return file;
    }
  };
  const added: ChangedFileBody[] = [];
  const renamed: RenamedFileBody[] = [];
  for (const file of files) {
    const from = take(byName.get(nameKey(file))) ?? take(byId.get(file.sha));
    if (from === undefined) added.push(file);
    else renamed.push({ ...file, from: from.path });
  }
  return { added, removed: [...left], renamed };
}

const nameKey = ({ path, sha }: ChangedFileBody) => `${sha} ${fileName(path)}`;
