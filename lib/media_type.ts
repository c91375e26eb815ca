// Media types by the extension of a file's name, from the registry that mrmime has.

import { mimes } from "mrmime";

// Not mrmime's own look-up: it finds `Object.prototype.constructor` for `x.constructor`.
const TYPES: ReadonlyMap<string, string> = new Map(Object.entries(mimes));

/** The registered media type of a file with this name; undefined where its extension has none. */
export function registeredType(name: string): string | undefined {
  const [, extension = ""] = /\.([^./]+)$/.exec(name) ?? [];
  return TYPES.get(extension.toLowerCase());
}
