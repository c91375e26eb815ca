// One local folder as it changes: scanned at most once a second, by one scan at a time. The last two states are in
// memory, so that a request that began to read one can finish when the next is already there.

import { type FileList, FileListBuilder } from "../file_list.ts";
import { type Freshness, type RefState, updateRef } from "../source.ts";
import {
  scanFolder,
  type ScannedFile,
  type ScannedFolder,
  type ScanOptions,
} from "./folder_scan.ts";
import { checkedOutBranch } from "./git_checkout.ts";

const FRESH_FOR_MS = 1000;

/** The result of a scan. */
export interface Look {
  readonly branch: string;
  readonly state: FolderState;
  readonly ref: RefState;
  readonly freshness: Freshness;
}

/** One state of a folder, read by Git's ids or by path. It never changes. */
export class FolderState {
  private readonly trees = new Map<string, ScannedFolder>();
  private readonly lists = new Map<string, FileList>();

  constructor(readonly root: ScannedFolder) {
    this.index(root);
  }

  /** The folder with a tree id. */
  tree(treeId: string): ScannedFolder | undefined {
    return this.trees.get(treeId);
  }

  /** All files below the folder with a tree id. Made once. */
  files(treeId: string): FileList | undefined {
    const folder = this.trees.get(treeId);
    if (folder === undefined || this.lists.has(treeId)) return this.lists.get(treeId);
    const builder = new FileListBuilder();
    addFiles(builder, folder, "");
    const list = builder.build();
    this.lists.set(treeId, list);
    return list;
  }

  /** The file at a path from the root, or null where there is none. */
  file(path: string): ScannedFile | null {
    let at: ScannedFile | ScannedFolder | undefined = this.root;
    for (const segment of path.split("/")) {
      at = at?.kind === "folder" ? at.entries.get(segment) : undefined;
    }
    return at?.kind === "file" ? at : null;
  }

  private index(folder: ScannedFolder): void {
    this.trees.set(folder.id, folder);
    for (const entry of folder.entries.values()) if (entry.kind === "folder") this.index(entry);
  }
}

/** Follows the folder at `path`. */
export class WatchedFolder {
  private last: Look | null = null;
  private before: FolderState | null = null;
  private looking: Promise<Look> | null = null;

  constructor(readonly path: string, private readonly options: ScanOptions) {}

  /** The folder as it was at most a second ago. Throws what {@linkcode scanFolder} throws. */
  look(): Promise<Look> {
    const { last } = this;
    const ageMs = last === null ? Infinity : this.options.now() - last.ref.checkedAtMs;
    if (last !== null && ageMs >= 0 && ageMs < FRESH_FOR_MS) {
      return Promise.resolve({ ...last, freshness: "hit" });
    }
    this.looking ??= this.lookAgain(last).finally(() => this.looking = null);
    return this.looking;
  }

  /** The state with a root tree id, if it is one of the last two. */
  stateOf(rootTreeId: string): FolderState | null {
    const states = [this.last?.state, this.before];
    return states.find((state) => state?.root.id === rootTreeId) ?? null;
  }

  /** Makes the next {@linkcode look} scan the folder, which has changed. */
  expire(): void {
    if (this.last !== null) this.last.ref.checkedAtMs = 0;
  }

  private async lookAgain(last: Look | null): Promise<Look> {
    const checkedAtMs = this.options.now();
    const branch = await checkedOutBranch(this.path);
    const root = await scanFolder(this.path, last?.state.root ?? null, this.options);
    const state = root === last?.state.root ? last.state : new FolderState(root);
    const hasMoved = last !== null && root.id !== last.state.root.id;
    if (hasMoved) this.before = last.state;
    if (last?.branch === branch) {
      updateRef(last.ref, root.id, checkedAtMs);
      return this.last = {
        ...{ branch, state, ref: last.ref },
        freshness: hasMoved ? "moved" : "revalidated",
      };
    }
    // A ref state belongs to one branch: the other's is not renewed any more.
    const ref = {
      ...{ commit: root.id, checkedAtMs, freshForMs: FRESH_FOR_MS },
      ...{ wantedAtMs: checkedAtMs, previous: [] },
    };
    return this.last = { branch, state, ref, freshness: last === null ? "miss" : "moved" };
  }
}

function addFiles(builder: FileListBuilder, folder: ScannedFolder, prefix: string): void {
  builder.omit(folder.omitted);
  for (const entry of folder.entries.values()) {
    const path = prefix + entry.name;
    if (entry.kind === "folder") addFiles(builder, entry, `${path}/`);
    else if (entry.kind === "file") builder.add({ path, id: entry.id, size: entry.size });
  }
}
