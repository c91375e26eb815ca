// One local folder as it changes: looked at at most once a second, by one look at a time. The last two states are kept,
// so that who began to read one can finish when the next is already there.

import { scanFolder, type ScannedFolder, type ScanOptions } from "./folder_scan.ts";
import { FolderState } from "./folder_state.ts";
import { checkedOutBranch } from "./git_checkout.ts";
import type { Freshness, RefCheck } from "./repository.ts";

const LOOK_FRESH_MS = 1000;

/** What a look gave. */
export interface Look {
  readonly branch: string;
  readonly state: FolderState;
  readonly check: RefCheck;
  readonly freshness: Freshness;
}

/** Keeps the state of the folder at `path` current. */
export class WatchedFolder {
  #last: Look | null = null;
  #before: FolderState | null = null;
  #looking: Promise<Look> | null = null;

  constructor(readonly path: string, private readonly options: Omit<ScanOptions, "previous">) {}

  /** The folder as it was at most a second ago. Throws what {@linkcode scanFolder} throws. */
  look(): Promise<Look> {
    const last = this.#last;
    const ageMs = last === null ? Infinity : this.options.now() - last.check.askedAtMs;
    if (last !== null && ageMs >= 0 && ageMs < LOOK_FRESH_MS) {
      return Promise.resolve({ ...last, freshness: "hit" });
    }
    this.#looking ??= this.#lookAgain(last).finally(() => this.#looking = null);
    return this.#looking;
  }

  /** The state with a root tree id, if it is one of the last two. */
  stateOf(rootTreeId: string): FolderState | null {
    const states = [this.#last?.state, this.#before];
    return states.find((state) => state?.root.id === rootTreeId) ?? null;
  }

  /** Says that the folder was seen to have changed: the next {@linkcode look} does not rely on the last. */
  expire(): void {
    if (this.#last !== null) this.#last.check.askedAtMs = 0;
  }

  async #lookAgain(last: Look | null): Promise<Look> {
    const askedAtMs = this.options.now();
    const branch = await checkedOutBranch(this.path);
    const previous = last?.state.root ?? null;
    const root = await scanFolder(this.path, { ...this.options, previous });
    const state = last !== null && root === previous ? last.state : new FolderState(root);
    return this.#last = last === null
      ? { branch, state, check: newCheck(root, askedAtMs), freshness: "miss" }
      : this.#moveOn(last, { branch, state, askedAtMs });
  }

  #moveOn(last: Look, next: { branch: string; state: FolderState; askedAtMs: number }): Look {
    const { branch, state, askedAtMs } = next;
    const hasMoved = state.root.id !== last.state.root.id;
    if (hasMoved) this.#before = last.state;
    if (branch === last.branch) {
      Object.assign(last.check, { commit: state.root.id, askedAtMs });
      return { branch, state, check: last.check, freshness: hasMoved ? "moved" : "revalidated" };
    }
    // A check stands for one branch: the other's is not renewed any more.
    return { branch, state, check: newCheck(state.root, askedAtMs), freshness: "moved" };
  }
}

function newCheck(root: ScannedFolder, askedAtMs: number): RefCheck {
  return { commit: root.id, askedAtMs, freshMs: LOOK_FRESH_MS, wantedAtMs: askedAtMs };
}
