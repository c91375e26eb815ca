// Opens the key-value store that the settings name. A failure says what to do about it, and never what is secret: a
// URL is shown without its credentials and query, and where Deno keeps its own store is not told.

import { dirname } from "@std/path";

const IN_MEMORY = ":memory:";

/**
 * Opens a Deno KV: Deno's own for null, `:memory:`, the URL of a remote one, or a SQLite file, whose folder is created.
 * @throws {Error} `Cannot open the key-value store …`
 */
export async function openKv(path: string | null): Promise<Deno.Kv> {
  const remote = path !== null && /^[a-z][a-z0-9+.-]*:\/\//i.test(path);
  try {
    if (typeof Deno.openKv !== "function") throw new TypeError("add --unstable-kv");
    if (path === null) return await Deno.openKv();
    if (!remote && path !== IN_MEMORY) await Deno.mkdir(dirname(path), { recursive: true });
    return await Deno.openKv(path);
  } catch (error) {
    const shown = remote ? withoutSecrets(path) : path ?? "default";
    const state = error instanceof Deno.errors.NotCapable
      ? `its permission is missing, add ${flags(path, remote)}`
      : withoutSecrets(error instanceof Error ? error.message : String(error));
    // SQLite ends some of its messages with the path, which nobody named here.
    const told = path === null ? state.replace(/: \S*[\\/].*/s, "") : state;
    throw new Error(`Cannot open the key-value store "${shown}": ${told}`);
  }
}

function flags(path: string | null, remote: boolean): string {
  if (path === null) return "--allow-read --allow-write";
  if (!remote) return `--allow-read=${dirname(path)} --allow-write=${dirname(path)}`;
  return `--allow-env=DENO_KV_ACCESS_TOKEN --allow-net=${URL.parse(path)?.host ?? ""}`;
}

/** A text without the userinfo, query and fragment of the URLs in it. */
function withoutSecrets(text: string): string {
  return text.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)([^\s'"]*@)?([^?#\s'"]*)[^\s'")]*/gi, "$1$3");
}
