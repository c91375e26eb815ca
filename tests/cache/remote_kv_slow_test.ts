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

Deno.test("a store at 100 ms is used in few requests", async () => {
  await using opened = await open();
  const { expected, gh, server } = opened;
  server.latencyMs = 100;
  {
    await using service = await opened.start();
    server.counts.clear();
    await service.list();
    const reads = server.counts.get("snapshot_read") ?? 0;
    assertLessOrEqual(reads, 4, "reads of a cold list");
    await service.list();
    assertEquals(server.counts.get("snapshot_read"), reads, "a hit reads none");
    assertEquals(await bodies(service), expected);
  }
  assertLessOrEqual(server.counts.get("atomic_write")!, 2 * LISTS.length);
  await using other = await opened.start();
  gh.resetCounts();
  assertEquals(await bodies(other), expected);
  assertEquals(gh.counts(), { commit: 1 }, "the rest comes from the store");
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

Deno.test("a remote store that refuses its token pauses for 30 s", async () => {
  await using opened = await open();
  const { expected, server } = opened;
  await using service = await opened.start();
  await service.list();
  server.token = "another";
  for (let n = 0; n < 20; n++) {
    await service.get(listPath({ branch: `absent-${n}` }));
  }
  assertEquals(await bodies(service), expected);
  assertEquals(service.logLines("key-value store failed").length, 3);
});
