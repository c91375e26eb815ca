import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { openKv as openKvWith } from "../../lib/cache/open_kv.ts";
import { LineLog } from "../../lib/log.ts";
import { openServices } from "../../lib/services.ts";
import { parseSettings, SettingsError } from "../../lib/settings.ts";
import { TOKEN } from "../kv_connect/kv_connect_server.ts";
import { TestClock } from "../test_clock.ts";
import { randomBytes } from "./watched_kv.ts";

const clock = new TestClock();
const openKv = (path: string | null) => openKvWith(path, clock);

/** Files that were stores once, in a folder of their own. */
async function makeDamagedFiles() {
  const folder = await Deno.makeTempDir();
  const whole = `${folder}/kv`;
  const kv = await openKv(whole);
  for (let i = 0; i < 50; i++) await kv.set(["a", i], randomBytes(20_000));
  kv.close();
  const bytes = await Deno.readFile(whole);
  const damaged = [
    bytes.slice().fill(0, 0, 100),
    bytes.slice().fill(7, 100, 4096),
    bytes.slice().fill(7, 4096, 900_000),
    bytes.slice(0, bytes.length / 2),
    bytes.slice(0, 50),
    randomBytes(bytes.length),
  ];
  const files = await Promise.all(damaged.map(async (bytes, index) => {
    const path = `${folder}/damaged-${index}`;
    await Deno.writeFile(path, bytes);
    return { path, bytes };
  }));
  return {
    files,
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Services that open their store by themselves. */
async function open(log: LineLog, env: Record<string, string> = {}) {
  const settings: Record<string, string> = { LOCAL_REPOS_DIR: "none", ...env };
  return await openServices(parseSettings((name) => settings[name]), {
    clock,
    log,
  });
}

/** Runs with another function in the place of `Deno.openKv`. */
async function withOpenKv(
  replacement: typeof Deno.openKv,
  run: () => Promise<void>,
) {
  const real = Object.getOwnPropertyDescriptor(Deno, "openKv")!;
  Object.defineProperty(Deno, "openKv", { ...real, get: () => replacement });
  await run().finally(() => Object.defineProperty(Deno, "openKv", real));
}

Deno.test("openKv() says why it cannot open a store", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeFile(`${folder}/empty`, new Uint8Array(0));
  for (
    const path of [
      ":memory:",
      ...["a/b/kv", "a/b/kv", "empty"].map((p) => `${folder}/${p}`),
    ]
  ) {
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

Deno.test("openServices() rejects a damaged KV_PATH and leaves it", async () => {
  await using damaged = await makeDamagedFiles();
  const log = new LineLog(() => {}, { level: "silent" });
  for (const { path, bytes } of damaged.files) {
    const message =
      `Cannot start with "KV_PATH": Cannot open the key-value store "${path}": `;
    await assertRejects(
      () => open(log, { KV_PATH: path }),
      SettingsError,
      message,
    );
    assertEquals(await Deno.readFile(path), bytes);
  }
});

Deno.test("openServices() warns where Deno's own store is damaged", async () => {
  await using damaged = await makeDamagedFiles();
  const { openKv } = Deno;
  for (const { path } of damaged.files) {
    await withOpenKv(() => openKv(path), async () => {
      let text = "";
      const sink = (bytes: Uint8Array) =>
        void (text += new TextDecoder().decode(bytes));
      const services = await open(new LineLog(sink, { level: "info" }));
      assertEquals((await services.health()).store, "none");
      await services.close();
      const { event, reason } = JSON.parse(text.split("\n")[0]!);
      assertEquals(event, "no key-value store, caching in memory only");
      assertStringIncludes(
        reason,
        'Cannot open the key-value store "default": ',
      );
    });
  }
});

Deno.test("openKv() waits while another process makes the file", async () => {
  let failures = 99;
  const { openKv: real } = Deno;
  const openLocked = (path?: string) =>
    failures-- > 0
      ? Promise.reject(new TypeError("database is locked"))
      : real(path);
  await withOpenKv(openLocked, async () => {
    (await openKv(":memory:")).close();
    failures = 100;
    await assertRejects(() => openKv(":memory:"), Error, "database is locked");
  });
});

Deno.test("openKv() does not reveal the path of Deno's own store", async () => {
  for (
    const path of [
      "/home/canary/.cache/deno/kv.sqlite3",
      "C:\\Users\\canary\\kv.sqlite3",
    ]
  ) {
    const fail = () =>
      Promise.reject(new Error(`unable to open database file: ${path}`));
    await withOpenKv(fail, async () => {
      const { message } = await assertRejects(() => openKv(null), Error);
      const text =
        'Cannot open the key-value store "default": unable to open database file';
      assertEquals(message, text);
    });
  }
});

Deno.test("openKv() shows no credentials of a URL", async () => {
  // Files of tests that run at once share the environment, so all of them set
  // the same token.
  Deno.env.set("DENO_KV_ACCESS_TOKEN", TOKEN);
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response("no", { status: 403 }),
  );
  const host = `127.0.0.1:${server.addr.port}`;
  for (
    const userinfo of [
      "user:s3cret@",
      "s3cret@",
      "user:s3@cret@",
      "",
      "a/s3cret@",
    ]
  ) {
    const url = `HTTP://${userinfo}${host}/store?token=s3cret#s3cret`;
    const error = await assertRejects(
      () => openKv(url),
      Error,
      "Cannot open the key-value store",
    );
    assertEquals(/s3|cret|a-token/.exec(error.message), null, error.message);
  }
  const error = await assertRejects(
    () => openKv(`http://s3cret@${host}/store`),
    Error,
  );
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
      "https://s3cret@kv.example/a":
        "add --allow-env=DENO_KV_ACCESS_TOKEN --allow-net=kv.example",
    };
    for (const [path, flag] of Object.entries(flags)) {
      const error = await assertRejects(() => openKv(path), Error);
      assertStringIncludes(error.message, flag);
    }
  },
});
