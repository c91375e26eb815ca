// Works through many items a few at a time, without a promise or a queue place for each of them.

/** Runs `work` for every item, at most `limit` at once. The first failure is thrown, and no further item is begun. */
export async function inParallel<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
  options: { limit: number },
): Promise<void> {
  // One generator for all workers: a loop that fails closes it, which ends the other loops too.
  const shared = (function* () {
    yield* items;
  })();
  const workers = Array.from({ length: options.limit }, async () => {
    for (const item of shared) await work(item);
  });
  await Promise.all(workers);
}
