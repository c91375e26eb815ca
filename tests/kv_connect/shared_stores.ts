// The stores that several processes may share: a SQLite file, and a remote store. A suite for shared stores runs on both.
//
//   testOnEachStore("two processes share a value", async (store) => {
//     const [one, other] = [await store.open(), await store.open()];

import { KvConnectServer } from "./kv_connect_server.ts";

/** One empty store. */
export interface SharedStore extends AsyncDisposable {
  /** Opens it as one process does. */
  open(): Promise<Deno.Kv>;
  /** KV_PATH: a path, or the URL of a remote store. */
  readonly path: string;
}

/** Registers a test for each kind of store. */
export function testOnEachStore(name: string, run: (store: SharedStore) => Promise<void>): void {
  for (const [kind, open] of [["a file", openFile], ["a remote store", openRemote]] as const) {
    Deno.test(`${name}, on ${kind}`, async () => {
      await using store = await open();
      await run(store);
    });
  }
}

/** A SQLite file. */
export async function openFile(): Promise<SharedStore> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/kv`;
  return {
    open: () => Deno.openKv(path),
    path,
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

async function openRemote(): Promise<SharedStore> {
  const server = await KvConnectServer.start();
  return {
    open: () => server.open(),
    path: server.url,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
