// One Repository in front of several sources: an owner has the source that is named for it, all others the default.

import type { FileList } from "./file_list.ts";
import type {
  BlobResult,
  Caller,
  FileRef,
  RefQuestion,
  Repository,
  Snapshot,
  TreeEntry,
} from "./repository.ts";

/** Sends each question where its owner belongs. Owners compare without case. */
export class RoutedRepository implements Repository {
  constructor(
    private readonly fallback: Repository,
    /** By owner, in lower case. */
    private readonly owners: ReadonlyMap<string, Repository>,
  ) {}

  resolve(question: RefQuestion, caller: Caller): Promise<Snapshot> {
    return this.of(question.owner).resolve(question, caller);
  }
  readTree(snapshot: Snapshot, treeId: string, caller: Caller): Promise<readonly TreeEntry[]> {
    return this.of(snapshot.name.owner).readTree(snapshot, treeId, caller);
  }
  readTreeRecursive(snapshot: Snapshot, treeId: string, caller: Caller): Promise<FileList | null> {
    return this.of(snapshot.name.owner).readTreeRecursive(snapshot, treeId, caller);
  }
  readFolders(snapshot: Snapshot, treeId: string, caller: Caller): Promise<FileList | null> {
    return this.of(snapshot.name.owner).readFolders(snapshot, treeId, caller);
  }
  async keptFiles(snapshot: Snapshot, treeId: string): Promise<FileList | null> {
    return await this.of(snapshot.name.owner).keptFiles?.(snapshot, treeId) ?? null;
  }
  async keepFiles(snapshot: Snapshot, treeId: string, files: FileList): Promise<void> {
    await this.of(snapshot.name.owner).keepFiles?.(snapshot, treeId, files);
  }
  async keptDerived(snapshot: Snapshot, key: string): Promise<Uint8Array<ArrayBuffer> | null> {
    return await this.of(snapshot.name.owner).keptDerived?.(snapshot, key) ?? null;
  }
  async keepDerived(snapshot: Snapshot, key: string, bytes: Uint8Array<ArrayBuffer>) {
    await this.of(snapshot.name.owner).keepDerived?.(snapshot, key, bytes);
  }
  readBlobs(
    snapshot: Snapshot,
    files: readonly FileRef[],
    caller: Caller,
  ): Promise<ReadonlyMap<string, BlobResult>> {
    return this.of(snapshot.name.owner).readBlobs(snapshot, files, caller);
  }
  htmlUrl(snapshot: Snapshot, path: string): string | null {
    return this.of(snapshot.name.owner).htmlUrl(snapshot, path);
  }
  close(): void {
    for (const repository of [this.fallback, ...this.owners.values()]) repository.close();
  }

  private of(owner: string): Repository {
    return this.owners.get(owner.toLowerCase()) ?? this.fallback;
  }
}
