// Memory that V8 would free too late.

import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Has V8 count memory that this thread shares. V8 does not count it and
 * collects dropped blocks only by chance: 60 blocks of 30 MiB, one after the
 * other, took 1,880 MiB (Deno 2.9.6). V8 counts a buffer of the same size that
 * is dropped at once. Nothing touches that buffer, so it takes no memory.
 */
export function countShared(bytes: number): void {
  new ArrayBuffer(bytes);
}

/**
 * V8 collects in short steps once the buffers that it counts exceed a limit. If
 * they exceed it by half of it, and by 32 MiB, V8 stops the thread until it is
 * done (heap.cc, `AllocationLimitOvershotByLargeMargin`).
 */
const PRESSURE_BYTES = 16 << 20;

/**
 * Has V8 collect the garbage of this thread soon, in short steps. Otherwise 60
 * MiB of dropped buffers stay for as long as few new objects are made (Deno
 * 2.9.6). Where there is much memory in use, it takes several calls. The buffer
 * that it allocates is never touched. Never throws.
 */
export function collectSoon(): void {
  try {
    new ArrayBuffer(PRESSURE_BYTES);
  } catch {
    // The system gives no more memory.
  }
}

/**
 * Frees a buffer now instead of at some later garbage collection. To resize it
 * would also clear it.
 */
export function freeBuffer(buffer: ArrayBufferLike): void {
  if (!(buffer instanceof ArrayBuffer) || buffer.detached) return;
  buffer.transferToFixedLength(0);
}

const RELEASE_AFTER_BYTES = 32 << 20;

let collect: ((options: object) => void) | null = null;
let releasedBytes = 0;

/** The memory of this thread, with buffers and with texts outside its heap. */
function takenBytes(): number {
  const { total_heap_size, external_memory } = getHeapStatistics();
  return total_heap_size + external_memory;
}

/**
 * Gives memory of collected objects back to the system if this thread has taken
 * 32 MiB more since the last time, or if it `isDue`. V8 keeps pages of its heap
 * for new objects whatever its flags say (Deno 2.9.6). Only a collection of
 * last resort frees them. It visits every object in use, so small growth is not
 * worth one.
 */
export function releasePages(isDue = false): void {
  if (!isDue && takenBytes() < releasedBytes + RELEASE_AFTER_BYTES) return;
  if (collect === null) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as typeof collect;
  }
  collect!({ type: "major", execution: "sync", flavor: "last-resort" });
  releasedBytes = takenBytes();
}
