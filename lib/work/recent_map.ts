// Maps with a limited number of entries.

import { LRUCache } from "lru-cache";

/**
 * Keeps the `max` entries that were used last. LRUCache with an option `max`
 * would reserve the places of all entries at once, which takes time at the start
 * and memory.
 */
export class RecentMap<Value extends NonNullable<unknown>>
  extends LRUCache<string, Value> {
  constructor(
    max: number,
    options: Pick<
      LRUCache.OptionsBase<string, Value, unknown>,
      "dispose" | "memoMethod" | "ttl"
    > = {},
  ) {
    super({ ...options, maxSize: max, sizeCalculation: () => 1 });
  }
}
