// The tiers that objects and refs are kept in: memory over the key-value store, or memory alone where there is none.

import type { Cache } from "./cache/cache.ts";
import { KvCache } from "./cache/kv.ts";
import { MemoryCache } from "./cache/memory.ts";
import { openKv } from "./cache/open_kv.ts";
import { ScopedCache } from "./cache/scoped.ts";
import { TieredCache } from "./cache/tiered.ts";
import { WriteBudget } from "./cache/write_budget.ts";
import { describeError, type Log } from "./log.ts";
import { type Config, SettingsError } from "./settings.ts";
import { sourceScope } from "./source_scope.ts";

/** The opened tiers. */
export interface Caches {
  /** The store itself, or null where there is none. */
  readonly kv: Deno.Kv | null;
  /** The fast tier, for what is too large for the others. */
  readonly memory: MemoryCache;
  /** The tier that outlives the process, for refs; memory where there is no store. */
  readonly refs: Cache;
  /** All tiers, for objects; closing it closes the store. */
  readonly objects: Cache;
}

/** What {@linkcode openCaches} needs beside the settings. */
export interface CachesOptions {
  readonly now: () => number;
  readonly log: Log;
  /** A store that is open already, or null. */
  readonly kv: Deno.Kv | null;
  readonly memoryBytes: number;
  /** Hears the name of the tier that had what was asked for. */
  readonly onHit: (tier: string) => void;
}

/** Opens the tiers. @throws {SettingsError} where KV_PATH names what cannot be opened. */
export async function openCaches(
  config: Config,
  { now, log, memoryBytes, onHit, ...given }: CachesOptions,
): Promise<Caches> {
  const kv = given.kv ?? await openStore(config, log);
  const memory = new MemoryCache({ maxBytes: memoryBytes, now });
  if (kv === null) return { kv, memory, refs: memory, objects: memory };
  const onError = (error: unknown) => log.warn("key-value store failed", describeError(error));
  const scope = sourceScope(config);
  const budget = new WriteBudget({ maxBytesPerHour: config.kvWriteBytesPerHour, now });
  const refs = new ScopedCache(new KvCache(kv, { now, onError }), scope);
  const stored = new ScopedCache(new KvCache(kv, { now, onError, budget }), scope);
  return { kv, memory, refs, objects: new TieredCache([memory, stored], { now, onHit }) };
}

async function openStore(config: Config, log: Log): Promise<Deno.Kv | null> {
  try {
    return await openKv(config.kvPath);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (config.kvPath !== null) throw new SettingsError(`Cannot start with "KV_PATH": ${message}`);
    // Nobody asked for a store by name, and the service is right without one, if slower.
    log.warn("no key-value store, keeping everything in memory", { reason: message });
    return null;
  }
}
