// Opens the key-value store that the settings name. A failure message says what to do, and never has a secret. A damaged
// file contains only what can be fetched again, so it is set aside and an empty store takes its place; no other program's
// file is opened or moved.

import { basename, dirname } from "@std/path";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { isLocked } from "./kv_tier.ts";

const SQLITE_MAGIC = "SQLite format 3\0";
/** Deno's tables; the first pages of a SQLite file have its schema. */
const KV_TABLES = ["CREATE TABLE migration_state", "CREATE TABLE data_version"];
const HEAD_BYTES = 65_536;
/** What SQLite says of a file that it cannot read. */
const DAMAGED = /file is not a database|database disk image is malformed/;

const OPEN_WITHIN_MS = 5_000;
const REOPEN_MS = 30_000;
const OPEN_AGAIN_AFTER_MS = 50;

interface OpenKvOptions {
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Opens a Deno KV: Deno's own for null, `:memory:`, the URL of a remote one, or a SQLite file, whose folder is created.
 * @throws {Error} `Cannot open the key-value store …`
 */
export async function openKv(path: string | null, options: OpenKvOptions): Promise<Deno.Kv> {
  const isUrl = isRemoteKv(path);
  try {
    if (typeof Deno.openKv !== "function") throw new TypeError("add --unstable-kv");
    const isFile = path !== null && !isUrl && path !== ":memory:";
    return isFile ? await openFile(path, options) : await openUnlocked(path ?? undefined);
  } catch (error) {
    const shown = isUrl ? withoutSecrets(path) : path ?? "default";
    const text = `Cannot open the key-value store "${shown}": `;
    if (error instanceof Deno.errors.NotCapable) {
      throw new Deno.errors.NotCapable(
        `${text}its permission is missing, add ${flags(path, isUrl)}`,
      );
    }
    const state = withoutSecrets(messageOf(error));
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
  options: OpenKvOptions & { readonly onOpen: (kv: Deno.Kv) => void },
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
      const kv = await openKv(path, options);
      if (isStopped) return kv.close();
      if (isAway) log.info("key-value store opened");
      onOpen(kv);
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      logAway(messageOf(error));
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

async function openFile(path: string, { clock, log }: OpenKvOptions): Promise<Deno.Kv> {
  await Deno.mkdir(dirname(path), { recursive: true });
  const before = await Deno.stat(path).catch(ifNotFound);
  if (before !== null) await refuseOtherFile(path);
  try {
    return await openWritable(path);
  } catch (error) {
    if (before === null || !DAMAGED.test(String(error))) throw error;
  }
  // Another process of this service may have set the file aside in the meantime.
  if ((await Deno.stat(path).catch(ifNotFound))?.ino === before.ino) {
    const aside = `${path}.damaged-${new Date(clock.now()).toISOString().replaceAll(/[:.]/g, "-")}`;
    await Deno.rename(path, aside);
    // If they stayed, SQLite would replay them into the new file.
    for (const end of ["-wal", "-shm"]) {
      await Deno.rename(path + end, aside + end).catch(ifNotFound);
    }
    log.warn("key-value store damaged, starting an empty one", { setAside: basename(aside) });
  }
  return await openWritable(path);
}

/** Opens a store while others may open it: the process that creates a file locks it until its tables exist. */
async function openUnlocked(path?: string): Promise<Deno.Kv> {
  const until = performance.now() + OPEN_WITHIN_MS;
  while (true) {
    try {
      return await Deno.openKv(path);
    } catch (error) {
      if (performance.now() > until || !isLocked(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, OPEN_AGAIN_AFTER_MS));
    }
  }
}

/** Opens a file, and writes to it once: SQLite opens a read-only file without an error and fails at each write. */
async function openWritable(path: string): Promise<Deno.Kv> {
  const kv = await openUnlocked(path);
  try {
    await kv.delete(["rc2", "probe"]);
  } catch (error) {
    // Another process that writes now has proved that the file can be written.
    if (isLocked(error)) return kv;
    kv.close();
    throw error;
  }
  return kv;
}

/** @throws {Error} where the file at `path` is not Deno's, by its first bytes or its name. */
async function refuseOtherFile(path: string): Promise<void> {
  using file = await Deno.open(path);
  const bytes = new Uint8Array(HEAD_BYTES);
  const length = await file.read(bytes) ?? 0;
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, length));
  if (head === "" || KV_TABLES.every((table) => head.includes(table))) return;
  // A store that is being made may have no table yet: its schema is in the write-ahead log.
  if (head.startsWith(SQLITE_MAGIC) && /CREATE /i.test(head)) {
    throw new Error("it is another program's database, set KV_PATH to a file of its own");
  }
  // Nothing in the file can be recognized: its name alone tells a damaged store from a file that was named by mistake.
  if (!head.startsWith(SQLITE_MAGIC) && !/kv|sqlite|\.db$/i.test(basename(path))) {
    throw new Error("it is a file of another kind, set KV_PATH to one that does not exist yet");
  }
}

function ifNotFound(error: unknown): null {
  if (error instanceof Deno.errors.NotFound) return null;
  throw error;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function flags(path: string | null, isUrl: boolean): string {
  if (path === null) return "--allow-read --allow-write";
  if (!isUrl) return `--allow-read=${dirname(path)} --allow-write=${dirname(path)}`;
  return `--allow-env=DENO_KV_ACCESS_TOKEN --allow-net=${URL.parse(path)?.host ?? ""}`;
}

/** A text without the userinfo, query and fragment of the URLs in it. */
function withoutSecrets(text: string): string {
  return text.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)([^\s'"]*@)?([^?#\s'"]*)[^\s'")]*/gi, "$1$3");
}
