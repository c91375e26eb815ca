// A failure of the source, with what only the source itself needs to know of it.

import { CollectionsError, isSourceFailure } from "../errors.ts";

/** GitHub's quota windows last an hour: no wait is longer, whatever a header says. */
export const MAX_WAIT_MS = 3_600_000;

/** The same error for a response, and its consequences for the next requests. */
export class SourceFailure extends CollectionsError {
  constructor(
    { code, detail, facts, message, cause }: CollectionsError,
    readonly consequences: {
      /** Whether there was no answer at all. */
      readonly isUnreached?: boolean;
      /** The pause that the source requested, in ms. */
      readonly waitMs?: number;
      /** The source's answer before it failed: the repository or the ref is missing. Nothing older may then be served. */
      readonly missing?: CollectionsError | null;
    },
  ) {
    super(code, detail, { ...facts, message, cause });
  }
}

/** The consequences of an error, none where it is no {@linkcode SourceFailure}. */
export function consequencesOf(error: unknown): SourceFailure["consequences"] {
  return error instanceof SourceFailure ? error.consequences : {};
}

/** Whether a check had no result: the source failed, or the queue to it is full. An older answer may then be served. */
export function isCheckFailure(error: unknown): error is CollectionsError {
  return isSourceFailure(error) ||
    error instanceof CollectionsError && error.code === "service-busy";
}

/** Counts failures in a row: a host is down after five that concern three owners. */
export class FailuresInARow {
  private count = 0;
  private readonly owners = new Set<string>();

  /** Whether the host is down with this one. */
  add(owner: string): boolean {
    this.owners.add(owner.toLowerCase());
    return ++this.count >= 5 && this.owners.size >= 3;
  }

  end(): void {
    this.count = 0;
    this.owners.clear();
  }
}
