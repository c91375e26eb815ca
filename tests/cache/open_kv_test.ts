import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { openKv } from "../../lib/cache/open_kv.ts";

Deno.test("openKv() opens a store in memory and one on a file, whose folder it creates", async () => {
  const folder = await Deno.makeTempDir();
  for (const path of [":memory:", `${folder}/a/b/kv.sqlite3`, `${folder}/a/b/kv.sqlite3`]) {
    const kv = await openKv(path);
    await kv.set(["a"], "kept");
    assertEquals((await kv.get(["a"])).value, "kept");
    kv.close();
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("openKv() says what cannot be opened and why", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/file`, "no database ".repeat(1_000));
  for (const path of [`${folder}/file`, `${folder}/file/kv`, folder]) {
    const message = `Cannot open the key-value store "${path}": `;
    await assertRejects(() => openKv(path), Error, message);
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("openKv() does not tell where Deno keeps its own store", async () => {
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
  const token = Deno.env.get("DENO_KV_ACCESS_TOKEN");
  Deno.env.set("DENO_KV_ACCESS_TOKEN", "t0ken");
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response("no", { status: 403 }),
  );
  const host = `127.0.0.1:${server.addr.port}`;
  for (const userinfo of ["user:s3cret@", "s3cret@", "user:s3@cret@", "", "a/s3cret@"]) {
    const url = `http://${userinfo}${host}/store?token=s3cret#s3cret`;
    const error = await assertRejects(() => openKv(url), Error, "Cannot open the key-value store");
    assertEquals(/s3|cret|t0ken/.exec(error.message), null, error.message);
  }
  const error = await assertRejects(() => openKv(`http://s3cret@${host}/store`), Error);
  assertStringIncludes(error.message, `"http://${host}/store": `);
  assertStringIncludes(error.message, "403");
  await server.shutdown();
  if (token === undefined) Deno.env.delete("DENO_KV_ACCESS_TOKEN");
  else Deno.env.set("DENO_KV_ACCESS_TOKEN", token);
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
