// Counts how often an address is decoded, since a malformed escape costs an
// exception each time.

/**
 * Calls of the engine's decoding functions, and how many of them threw, until
 * it is disposed of.
 */
export function countDecoding():
  & { calls: number; failed: number }
  & Disposable {
  const own = {
    decodeURI: globalThis.decodeURI,
    decodeURIComponent: globalThis.decodeURIComponent,
  };
  const count = { calls: 0, failed: 0 };
  const counted = (decode: (text: string) => string) => (text: string) => {
    count.calls++;
    count.failed++;
    const decoded = decode(text);
    count.failed--;
    return decoded;
  };
  Object.assign(globalThis, {
    decodeURI: counted(own.decodeURI),
    decodeURIComponent: counted(own.decodeURIComponent),
  });
  return Object.assign(count, {
    [Symbol.dispose]: () => void Object.assign(globalThis, own),
  });
}
