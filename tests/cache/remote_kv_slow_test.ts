// The service on a remote store that is slow, fails, is unreachable or refuses:
// responses stay right, and it is used again later.

import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { KvConnectServer, TOKEN } from "../kv_connect/kv_connect_server.ts";
import { listPath, startService, type TestService } from "../service.ts";
import { startSite } from "../site.ts";

const FILES = Object.fromEntries(
  Array.from(
    { length: 40 },
    (_, n) => [`posts/${n}.md`, `---\ntitle: ${n}\n---\n${n}\n`],
  ),
);
const SORTED = { sort: "-frontMatter.title", includeFrontMatter: true };
const LISTS = [{}, { includeContent: true }, SORTED];

/**
 * Services that open a server's store by its URL, each as a process does, and
 * what one on a store of its own answers.
 */
async function open() {
  const site = await startSite(FILES);
  const { gh, service: { clock } } = site;
  gh.addToken("t1");
  const server = await KvConnectServer.start();
  const env = {
    KV_PATH: server.path,
    GITHUB_TOKEN: "t1",
    ALLOWED_REPOS: "octo/*",
  };
  Deno.env.set("DENO_KV_ACCESS_TOKEN", TOKEN);
  return {
    expected: await bodies(site.service),
    server,
    gh,
    start: () => startService({ env, github: gh, clock }),
    async [Symbol.asyncDispose]() {
      await site[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

function bodies(service: TestService): Promise<string[]> {
  return Array.fromAsync(
    LISTS,
    async (parameters) =>
      await (await service.get(listPath(parameters))).text(),
  );
}

/** Waits for real work; fails by never ending. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resume) => setTimeout(resume, 2));
}

for (const latencyMs of [10, 100]) {
  Deno.test(`a store at ${latencyMs} ms is used in few requests`, async () => {
    await using opened = await open();
    const { expected, server } = opened;
    {
      await using service = await opened.start();
      server.latencyMs = latencyMs;
      server.counts.clear();
      await service.list();
      assertLessOrEqual(
        server.counts.get("snapshot_read") ?? 0,
        4,
        "reads of a cold list",
      );
      server.counts.clear();
      await service.list();
      assertEquals(
        server.counts.get("snapshot_read"),
        undefined,
        "a hit reads nothing",
      );
      assertEquals(await bodies(service), expected);
    }
    assertLessOrEqual(server.counts.get("atomic_write")!, 2 * LISTS.length);
    await using other = await opened.start();
    opened.gh.resetCounts();
    assertEquals(await bodies(other), expected);
    assertEquals(
      opened.gh.counts(),
      { commit: 1 },
      "the rest comes from the store",
    );
  });
}

Deno.test("a store that fails now and then changes no answer", async () => {
  await using opened = await open();
  const { expected, server } = opened;
  for (let process = 0; process < 2; process++) {
    await using service = await opened.start();
    server.fault = (operation, count) =>
      operation !== "metadata" && count % 10 === 0 ? 503 : null;
    assertEquals(await bodies(service), expected);
    assertEquals(service.logLines("key-value store failed"), []);
    server.fault = () => null;
  }
});

Deno.test("a service starts without a remote store and takes it later", async () => {
  await using opened = await open();
  const { server } = opened;
  await server.down();
  await using service = await opened.start();
  for (let minute = 0; minute < 3; minute++) {
    await service.list({ page: minute + 1 });
    service.clock.advance(60_000);
  }
  const [line, ...more] = service.logLines(
    "key-value store away, caching in memory only",
  );
  assert(String(line?.reason).includes(server.path), String(line?.reason));
  assertEquals([more, service.logLines("key-value store failed")], [[], []]);

  server.up();
  await service.get(listPath({ branch: "absent" }));
  server.counts.clear();
  await service.list({ includeContent: true });
  await until(() => {
    service.clock.advance(500);
    return server.counts.has("atomic_write");
  });
  assertEquals(service.logLines("key-value store opened").length, 1);
});

Deno.test("a remote store that goes away costs a wait of 2 s in 30 s", async () => {
  await using opened = await open();
  const { expected, server } = opened;
  await using service = await opened.start();
  await service.list();
  server.fault = (operation) => operation === "metadata" ? null : 503;
  const seen = () => server.counts.get("snapshot_read") ?? 0;
  const before = seen();
  const waiting = bodies(service);
  await until(() => seen() > before);
  service.clock.advance(2_000);
  assertEquals(await waiting, expected);
  // The client repeats the read that was given up, and the service sends no
  // other.
  const failed = service.logLines("key-value store failed").length;
  assertEquals(await bodies(service), expected);
  assert(failed > 0);
  assertEquals(service.logLines("key-value store failed").length, failed);

  server.fault = () => null;
  service.clock.advance(60_000);
  const reads = seen();
  assertEquals(await bodies(service), expected);
  await service.get(listPath({ branch: "absent" }));
  assert(seen() > reads, "used again");
});

Deno.test("a remote store that refuses its token pauses for 30 s", async () => {
  await using opened = await open();
  const { expected, server } = opened;
  {
    await using service = await opened.start();
    await service.list();
    server.token = "another";
    for (let n = 0; n < 20; n++) {
      await service.get(listPath({ branch: `absent-${n}` }));
    }
    assertEquals(await bodies(service), expected);
    assertEquals(service.logLines("key-value store failed").length, 3);
  }
  await using service = await opened.start();
  await service.list();
  const [line] = service.logLines(
    "key-value store away, caching in memory only",
  );
  assert(String(line?.reason).includes("401"), String(line?.reason));
});

Deno.test("a remote store whose endpoint moves is found again", async () => {
  await using opened = await open();
  const { expected, server } = opened;
  // Deno's client requests the endpoint again 10 s before the end of its
  // metadata.
  server.metadataTtlMs = 10_300;
  await using service = await opened.start();
  const first = await bodies(service);
  server.endpoint = "/moved";
  server.metadataTtlMs = 3_600_000;
  assertEquals([first, await bodies(service)], [expected, expected]);
  assertEquals((await service.get(listPath({ branch: "absent" }))).status, 404);
});
