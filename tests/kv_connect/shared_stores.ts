// The stores that several processes may share: a SQLite file, a remote store,
// and denokv where DENOKV names its program. A suite for shared stores runs on
// each of them.
//
//   testOnEachStore("two processes share a value", async (store) => {
//     const [one, other] = [await store.open(), await store.open()];

import { KvConnectServer, TOKEN } from "./kv_connect_server.ts";

/** One empty store. */
export interface SharedStore extends AsyncDisposable {
  /** Opens it as one process does. */
  open(): Promise<Deno.Kv>;
  /** KV_PATH: a path, or the URL of a remote store. */
  readonly path: string;
}

const STORES:
  readonly (readonly [kind: string, open: () => Promise<SharedStore>])[] = [
    ["a file", openFile],
    ["a remote store", () => KvConnectServer.start()],
    ...Deno.env.get("DENOKV") ? [["denokv", openDenoKv] as const] : [],
  ];

/** Registers a test for each kind of store. */
export function testOnEachStore(
  name: string,
  run: (store: SharedStore) => Promise<void>,
): void {
  for (const [kind, open] of STORES) {
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

/** The server of denoland/denokv, on a file of its own. */
async function openDenoKv(): Promise<SharedStore> {
  const folder = await Deno.makeTempDir();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const child = new Deno.Command(Deno.env.get("DENOKV")!, {
    args: [
      "--sqlite-path",
      `${folder}/kv.sqlite`,
      "serve",
      "--addr",
      `127.0.0.1:${port}`,
    ],
    env: { DENO_KV_ACCESS_TOKEN: TOKEN },
    stdout: "null",
    stderr: "null",
  }).spawn();
  const path = `http://127.0.0.1:${port}`;
  Deno.env.set("DENO_KV_ACCESS_TOKEN", TOKEN);
  // It takes a moment to listen.
  for (let tries = 0;; tries++) {
    try {
      (await Deno.openKv(path)).close();
      break;
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resume) => setTimeout(resume, 50));
    }
  }
  return {
    open: () => Deno.openKv(path),
    path,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}
