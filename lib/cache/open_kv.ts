// Opens the key-value store that the settings name. A failure message says what to do, and never has a secret.

import { dirname } from "@std/path";
import type { Clock } from "../work/clock.ts";
import type { Log } from "../log.ts";
import { retryLocked } from "./kv_tier.ts";

const OPEN_WITHIN_MS = 5_000;
const REOPEN_MS = 30_000;

/**
 * Opens a Deno KV: Deno's own for null, `:memory:`, the URL of a remote one, or a SQLite file, whose folder is created.
 * @throws {Error} `Cannot open the key-value store …`
 */
export async function openKv(path: string | null, clock: Clock): Promise<Deno.Kv> {
  try {
    if (path !== null && path !== ":memory:" && !isRemoteKv(path)) {
      await Deno.mkdir(dirname(path), { recursive: true });
    }
    return await retryLocked(() => Deno.openKv(path ?? undefined), clock);
  } catch (error) {
    const text = `Cannot open the key-value store "${withoutSecrets(path ?? "default")}": `;
    if (error instanceof Deno.errors.NotCapable) {
      throw new Deno.errors.NotCapable(`${text}its permission is missing, add ${flags(path)}`);
    }
    const state = withoutSecrets((error as Error).message);
    // SQLite ends some of its messages with the path, which the settings did not name for the default.
    throw new Error(text + (path === null ? state.replace(/: \S*[\\/].*/s, "") : state));
  }
}

/** Whether a path is the URL of a remote Deno KV. */
export function isRemoteKv(path: string | null): path is string {
  return path !== null && /^https?:\/\//i.test(path);
}

/**
 * Opens a remote store; while it is unreachable or refuses its token, the open is retried in the background. Resolves
 * to the function that stops the retries, once the store is open or known to be unreachable.
 * @throws {Deno.errors.NotCapable} where this process may not reach it.
 */
export async function openRemoteKv(
  path: string,
  options: { readonly clock: Clock; readonly log: Log; readonly onOpen: (kv: Deno.Kv) => void },
): Promise<() => void> {
  const { clock, log, onOpen } = options;
  let isStopped = false;
  let isAway = false;
  let cancelTimer = () => {};
  const logAway = (reason: string) => {
    if (!isAway) log.warn("key-value store away, caching in memory only", { reason });
    isAway = true;
  };
  const open = async () => {
    try {
      const kv = await openKv(path, clock);
      if (isStopped) return kv.close();
      if (isAway) log.info("key-value store opened");
      onOpen(kv);
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      logAway((error as Error).message);
      if (!isStopped) cancelTimer = clock.setTimer(REOPEN_MS, () => void open());
    }
  };
  // Deno's client waits without end for a host that does not answer.
  const late = Promise.withResolvers<void>();
  const cancelWait = clock.setTimer(OPEN_WITHIN_MS, () => {
    logAway(`no answer in ${OPEN_WITHIN_MS} ms`);
    late.resolve();
  });
  await Promise.race([open(), late.promise]).finally(cancelWait);
  return () => {
    isStopped = true;
    cancelTimer();
  };
}

function flags(path: string | null): string {
  if (path === null) return "--allow-read --allow-write";
  if (!isRemoteKv(path)) return `--allow-read=${dirname(path)} --allow-write=${dirname(path)}`;
  return `--allow-env=DENO_KV_ACCESS_TOKEN --allow-net=${URL.parse(path)?.host ?? ""}`;
}

/** A text without the userinfo, query and fragment of the URLs in it. */
function withoutSecrets(text: string): string {
  return text.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)([^\s'"]*@)?([^?#\s'"]*)[^\s'")]*/gi, "$1$3");
}
