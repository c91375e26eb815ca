// Memory that V8 would free too late.

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
 * Frees a buffer now instead of at some later garbage collection. To resize it
 * would also clear it.
 */
export function freeBuffer(buffer: ArrayBufferLike): void {
  if (!(buffer instanceof ArrayBuffer) || buffer.detached) return;
  buffer.transferToFixedLength(0);
}
