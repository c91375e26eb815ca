// A failure of the source and its consequences for later requests.

import { codeOf, CollectionsError, isSourceFailure } from "../errors.ts";

/**
 * GitHub's quota windows last an hour. No wait is longer whatever a header
 * says.
 */
export const MAX_WAIT_MS = 3_600_000;

/** An error for a response with its consequences for the next requests. */
export class SourceFailure extends CollectionsError {
  constructor(
    { code, detail, facts, message, cause }: CollectionsError,
    readonly consequences: {
      /** Whether the source sent no response at all. */
      isUnreached?: boolean;
      /** The pause that the source requested, in ms. */
      waitMs?: number;
      /**
       * Set if the source reported the repository or ref missing before it
       * failed. Nothing older may then be served.
       */
      missing?: CollectionsError | null;
    },
  ) {
    super(code, detail, { ...facts, message, cause });
  }
}

/**
 * Returns the consequences of an error. They are empty unless it is a
 * {@linkcode SourceFailure}.
 */
export function consequencesOf(error: unknown): SourceFailure["consequences"] {
  return error instanceof SourceFailure ? error.consequences : {};
}

/**
 * Returns whether a check had no result. The source failed or the queue to it
 * is full. An older state may then be served.
 */
export function isCheckFailure(error: unknown): error is CollectionsError {
  return isSourceFailure(error) || codeOf(error) === "service-busy";
}

/**
 * Counts consecutive failures. A host is down after five that concern three
 * owners.
 */
export class FailuresInARow {
  private count = 0;
  private readonly owners = new Set<string>();

  /** Adds a failure. Returns whether the host is now down. */
  add(owner: string): boolean {
    this.owners.add(owner.toLowerCase());
    return ++this.count >= 5 && this.owners.size >= 3;
  }

  end(): void {
    this.count = 0;
    this.owners.clear();
  }
}
