// Changes of files at an exact moment: before or after a call of Deno's that
// the scan of a folder makes.

type Name = "lstat" | "lstatSync" | "readDir" | "realPath" | "realPathSync";
type Call = (path: string) => unknown;

/** Replaces a function of Deno's, until it is disposed of. */
export function replaceCall(
  name: Name,
  replace: (real: Call) => Call,
): Disposable {
  const real = Deno[name] as Call;
  const set = (value: Call) =>
    Object.defineProperty(Deno, name, {
      value,
      configurable: true,
      writable: true,
    });
  set(replace(real));
  return { [Symbol.dispose]: () => void set(real) };
}

/** Runs `change` before the first call with this path. */
export function before(
  name: Name,
  path: string,
  change: () => void,
): Disposable {
  let isDone = false;
  return replaceCall(name, (real) => (called) => {
    if (!isDone && called === path) {
      isDone = true;
      change();
    }
    return real(called);
  });
}

/** Runs `change` once the first call with this path has its result. */
export function after(
  name: Exclude<Name, "readDir">,
  path: string,
  change: () => void,
): Disposable {
  let isDone = false;
  return replaceCall(name, (real) => (called) => {
    if (isDone || called !== path) return real(called);
    isDone = true;
    const result = real(called);
    if (result instanceof Promise) return result.finally(change);
    change();
    return result;
  });
}

/** Counts the calls of one function. */
export function countCalls(
  name: Name,
): Disposable & { readonly count: number } {
  let count = 0;
  const replaced = replaceCall(name, (real) => (path) => {
    count++;
    return real(path);
  });
  return {
    get count() {
      return count;
    },
    [Symbol.dispose]: () => replaced[Symbol.dispose](),
  };
}
