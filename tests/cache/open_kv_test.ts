import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { openKv as openKvWith } from "../../lib/cache/open_kv.ts";
import { LineLog } from "../../lib/log.ts";
import { TOKEN } from "../kv_connect/kv_connect_server.ts";
import { TestClock } from "../test_clock.ts";
import { randomBytes } from "./watched_kv.ts";

const clock = new TestClock(Date.UTC(2026, 0, 2, 3, 4, 5));
const warnings: unknown[] = [];
const log = Object.assign(new LineLog(() => {}, { level: "silent" }), {
  warn: (...warning: unknown[]) => void warnings.push(warning),
});
const openKv = (path: string | null) => openKvWith(path, { clock, log });
/** The name of a file that is set aside, with the time of the clock. */
const ASIDE = "kv.sqlite3.damaged-2026-01-02T03-04-05-000Z";

/** A file that a store has been closed on, in a folder of its own. */
async function makeKvFile() {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/kv.sqlite3`;
  const kv = await openKv(path);
  for (let i = 0; i < 50; i++) await kv.set(["a", i], randomBytes(20_000));
  kv.close();
  const names = async () =>
    (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
  return { path, names, [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }) };
}

/** Sets `["a"]` to 1 in a process that leaves its write-ahead log behind. */
async function writeAndDie(path: string): Promise<void> {
  const writer =
    `const kv = await Deno.openKv("${path}"); await kv.set(["a"], 1); Deno.kill(Deno.pid, "SIGKILL")`;
  await new Deno.Command(Deno.execPath(), { args: ["eval", "--unstable-kv", writer] }).output();
}

Deno.test("openKv() opens what is or can be a store, and says why it cannot open another", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeFile(`${folder}/empty`, new Uint8Array(0));
  for (const path of [":memory:", ...["a/b/kv", "a/b/kv", "empty"].map((p) => `${folder}/${p}`)]) {
    const kv = await openKv(path);
    await kv.set(["a"], "stored");
    assertEquals((await kv.get(["a"])).value, "stored");
    kv.close();
  }
  await Deno.writeTextFile(`${folder}/file`, "no database ".repeat(1_000));
  for (const path of [`${folder}/file`, `${folder}/file/kv`, folder]) {
    const message = `Cannot open the key-value store "${path}": `;
    await assertRejects(() => openKv(path), Error, message);
  }
  await Deno.remove(folder, { recursive: true });
});

const damages: Record<string, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array> = {
  "with its header zeroed": (bytes) => bytes.fill(0, 0, 100),
  "with another first page": (bytes) => bytes.fill(7, 0, 4096),
  "with another schema": (bytes) => bytes.fill(7, 100, 4096),
  "with other pages": (bytes) => bytes.fill(7, 4096, 900_000),
  "cut in half": (bytes) => bytes.slice(0, bytes.length / 2),
  "cut after a few bytes": (bytes) => bytes.slice(0, 50),
  "of other bytes": (bytes) => randomBytes(bytes.length),
};

Deno.test("openKv() sets a damaged file aside, warns once and starts an empty store", async () => {
  for (const [name, damage] of Object.entries(damages)) {
    await using file = await makeKvFile();
    const damaged = damage(await Deno.readFile(file.path));
    await Deno.writeFile(file.path, damaged);
    warnings.length = 0;
    for (let start = 0; start < 2; start++) {
      const kv = await openKv(file.path);
      assertEquals((await kv.get(["a", 5])).value, null, name);
      await kv.set(["b"], start);
      kv.close();
    }
    assertEquals(await Deno.readFile(file.path.replace("kv.sqlite3", ASIDE)), damaged);
    assertEquals(await file.names(), ["kv.sqlite3", ASIDE]);
    const event = "key-value store damaged, starting an empty one";
    assertEquals(warnings, [[event, { setAside: ASIDE }]]);
  }
});

Deno.test("openKv() sets the write-ahead log of a damaged file aside with it", async () => {
  await using file = await makeKvFile();
  await writeAndDie(file.path);
  await Deno.truncate(file.path, (await Deno.stat(file.path)).size / 2);
  (await openKv(file.path)).close();
  assertEquals(await file.names(), ["kv.sqlite3", ASIDE, `${ASIDE}-shm`, `${ASIDE}-wal`]);
});

Deno.test("openKv() neither opens nor moves another program's database", async () => {
  await using file = await makeKvFile();
  for (const tables of [1, 400]) {
    await Deno.remove(file.path);
    const database = new DatabaseSync(file.path);
    for (let i = 0; i < tables; i++) database.exec(`CREATE TABLE notes_${i} (text TEXT)`);
    database.close();
    const before = await Deno.readFile(file.path);
    await assertRejects(() => openKv(file.path), Error, "it is another program's database");
    assertEquals([await Deno.readFile(file.path), await file.names()], [before, ["kv.sqlite3"]]);
  }
});

Deno.test("openKv() opens a store whose schema is in its write-ahead log alone", async () => {
  await using file = await makeKvFile();
  await Deno.remove(file.path);
  await writeAndDie(file.path);
  assertEquals(await file.names(), ["kv.sqlite3", "kv.sqlite3-shm", "kv.sqlite3-wal"]);
  const kv = await openKv(file.path);
  assertEquals((await kv.get(["a"])).value, 1);
  kv.close();
});

Deno.test("openKv() does not reveal the path of Deno's own store", async () => {
  const real = Object.getOwnPropertyDescriptor(Deno, "openKv")!;
  try {
    for (const path of ["/home/canary/.cache/deno/kv.sqlite3", "C:\\Users\\canary\\kv.sqlite3"]) {
      const fail = () => Promise.reject(new Error(`unable to open database file: ${path}`));
      Object.defineProperty(Deno, "openKv", { ...real, get: () => fail });
      const error = await assertRejects(() => openKv(null), Error);
      assertEquals(
        error.message,
        'Cannot open the key-value store "default": unable to open database file',
      );
    }
  } finally {
    Object.defineProperty(Deno, "openKv", real);
  }
});

Deno.test("openKv() shows no credentials of a URL", async () => {
  // Files of tests that run at once share the environment, so all of them set the same token.
  Deno.env.set("DENO_KV_ACCESS_TOKEN", TOKEN);
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response("no", { status: 403 }),
  );
  const host = `127.0.0.1:${server.addr.port}`;
  for (const userinfo of ["user:s3cret@", "s3cret@", "user:s3@cret@", "", "a/s3cret@"]) {
    const url = `http://${userinfo}${host}/store?token=s3cret#s3cret`;
    const error = await assertRejects(() => openKv(url), Error, "Cannot open the key-value store");
    assertEquals(/s3|cret|a-token/.exec(error.message), null, error.message);
  }
  const error = await assertRejects(() => openKv(`http://s3cret@${host}/store`), Error);
  assertStringIncludes(error.message, `"http://${host}/store": `);
  assertStringIncludes(error.message, "403");
  await server.shutdown();
});

Deno.test({
  name: "openKv() names the flags that are missing",
  permissions: { read: false, write: false, env: false, net: false },
  fn: async () => {
    const flags = {
      "data/kv": "add --allow-read=data --allow-write=data",
      "https://s3cret@kv.example/a": "add --allow-env=DENO_KV_ACCESS_TOKEN --allow-net=kv.example",
    };
    for (const [path, flag] of Object.entries(flags)) {
      const error = await assertRejects(() => openKv(path), Error);
      assertStringIncludes(error.message, flag);
    }
  },
});
