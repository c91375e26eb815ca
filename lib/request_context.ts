// The part of a request that the source layer needs to bound its cost and to charge it.

/** One object serves one request. */
export interface RequestContext {
  /** Aborts when the client disconnects; absent for background work. */
  readonly signal?: AbortSignal;
  /** The client address by which cost is counted and queues are made fair. */
  readonly client: string;
  /**
   * Records that the request is about to cause work that no cache had: source requests, or processor work for a list.
   * Called before the work starts. A request is charged at most once; work that another request has already started
   * (`joined`) is not charged.
   * @throws {CollectionsError} too-many-requests when this client may cause no more misses.
   */
  recordMiss(options?: { readonly joined: boolean }): void;
}

/** The context of work without a client: refresh ahead, background jobs whose start was charged already. */
export function backgroundContext(client: string, signal?: AbortSignal): RequestContext {
  return { client, recordMiss() {}, ...(signal === undefined ? {} : { signal }) };
}

/** The context's signal as an option, left out where there is none. */
export function signalOf(context: RequestContext): { signal: AbortSignal } | Record<never, never> {
  return context.signal === undefined ? {} : { signal: context.signal };
}
