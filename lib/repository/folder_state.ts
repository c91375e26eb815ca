// One state of a local folder, as a look found it, to be read by Git's ids or by path. It never changes.

import { type FileList, FileListBuilder } from "./file_list.ts";
import type { ScannedFolder } from "./folder_scan.ts";
import type { ScannedFile } from "./scanned_file.ts";

/** A folder whose root tree has the id `root.id`. */
export class FolderState {
  readonly #trees = new Map<string, ScannedFolder>();
  readonly #lists = new Map<string, FileList>();

  constructor(readonly root: ScannedFolder) {
    this.#index(root);
  }

  /** The folder with a tree id, or null. */
  tree(treeId: string): ScannedFolder | null {
    return this.#trees.get(treeId) ?? null;
  }

  /** All files below the folder with a tree id, or null. Put together once and kept as long as the state. */
  files(treeId: string): FileList | null {
    const kept = this.#lists.get(treeId);
    const folder = this.#trees.get(treeId);
    if (kept !== undefined || folder === undefined) return kept ?? null;
    const builder = new FileListBuilder();
    addFiles(builder, { folder, prefix: "" });
    const list = builder.build();
    this.#lists.set(treeId, list);
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

  #index(folder: ScannedFolder): void {
    this.#trees.set(folder.id, folder);
    for (const entry of folder.entries.values()) if (entry.kind === "folder") this.#index(entry);
  }
}

function addFiles(builder: FileListBuilder, at: { folder: ScannedFolder; prefix: string }): void {
  for (const entry of at.folder.entries.values()) {
    const path = at.prefix + entry.name;
    if (entry.kind === "folder") addFiles(builder, { folder: entry, prefix: `${path}/` });
    else if (entry.kind === "file") builder.add({ path, id: entry.id, size: entry.size });
  }
}
