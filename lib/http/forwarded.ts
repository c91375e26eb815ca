// What the trusted proxy wrote down of a request. Each proxy adds to the end, so the last entry alone is that proxy's own.

/** The last entry of a forwarded header, or null where there is none. */
export function lastForwarded({ headers }: Request, name: string): string | null {
  const last = headers.get(name)?.split(",").at(-1)?.trim();
  return last === undefined || last === "" ? null : last;
}
