// Bounds the bytes of memory that several pieces of work may hold together. Used for large responses and for large
// upstream answers.

/** A part of the bound that is held. */
export interface Reservation {
  readonly bytes: number;
  /** Adds bytes without waiting: what has been made has to be held. */
  grow(bytes: number): void;
  /** Gives everything back; calling it again does nothing. */
  release(): void;
}

export interface ByteSemaphore {
  /** Bytes that are reserved now. */
  readonly bytes: number;
  /**
   * Reserves bytes, first come first served; a request for more than the bound gets all of it.
   * @throws {CollectionsError} service-busy when too many wait or the wait takes too long; the signal's reason.
   */
  acquire(bytes: number, signal?: AbortSignal): Promise<Reservation>;
}
