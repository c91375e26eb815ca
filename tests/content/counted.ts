/** Returns how often `work` calls a method. */
export function counted<Name extends string>(
  target: Record<Name, unknown>,
  name: Name,
  work: () => void,
): number {
  const own = target[name] as (...given: unknown[]) => unknown;
  let count = 0;
  target[name] = function (this: unknown, ...given: unknown[]) {
    count++;
    return own.apply(this, given);
  };
  try {
    work();
  } finally {
    target[name] = own;
  }
  return count;
}
