// Opens the key-value store that the settings name. An error message says what
// to do and never contains a secret.

import { dirname } from "@std/path";
import type { Clock } from "../work/clock.ts";
import { retryLocked } from "./kv_tier.ts";

/**
 * Opens a Deno KV store. `path` is `:memory:`, the URL of a remote store or a
 * SQLite file. Null opens Deno's own store. The folder of a SQLite file is
 * created.
 * @throws {Error} `Cannot open the key-value store …`
 */
export async function openKv(
  path: string | null,
  clock: Clock,
): Promise<Deno.Kv> {
  try {
    if (path !== null && path !== ":memory:" && !isRemoteKv(path)) {
      await Deno.mkdir(dirname(path), { recursive: true });
    }
    return await retryLocked(() => Deno.openKv(path ?? undefined), clock);
  } catch (error) {
    const text = `Cannot open the key-value store "${
      withoutSecrets(path ?? "default")
    }": `;
    if (error instanceof Deno.errors.NotCapable) {
      throw new Deno.errors.NotCapable(
        `${text}its permission is missing, add ${flags(path)}`,
      );
    }
    const state = withoutSecrets((error as Error).message);
    // SQLite ends some messages with the path. The settings did not name the
    // path of the default store.
    throw new Error(
      text + (path === null ? state.replace(/: \S*[\\/].*/s, "") : state),
    );
  }
}

/** Returns whether a path is the URL of a remote Deno KV store. */
export function isRemoteKv(path: string | null): path is string {
  return path !== null && /^https?:\/\//i.test(path);
}

function flags(path: string | null): string {
  if (path === null) return "--allow-read --allow-write";
  if (!isRemoteKv(path)) {
    return `--allow-read=${dirname(path)} --allow-write=${dirname(path)}`;
  }
  return `--allow-env=DENO_KV_ACCESS_TOKEN --allow-net=${
    URL.parse(path)?.host ?? ""
  }`;
}

/** Returns the text without the userinfo, query and fragment of its URLs. */
function withoutSecrets(text: string): string {
  return text.replaceAll(
    /([a-z][a-z0-9+.-]*:\/\/)([^\s'"]*@)?([^?#\s'"]*)[^\s'")]*/gi,
    "$1$3",
  );
}
