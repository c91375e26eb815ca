// Several processes, one after the other or at once, on one key-value store: what one has read the others have, what is
// damaged is read anew, and what may not be written is not.

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import fc from "fast-check";
import type { ListBody } from "../../lib/api/contract.ts";
import { serveRepository } from "../github/served_repository.ts";
import type { GitFiles } from "../github/git_repository.ts";
import { listPath, startService, type TestService } from "../service.ts";
import { TestClock } from "../test_clock.ts";
import { randomBytes } from "../cache/random_bytes.ts";
import { textFiles } from "./blob_reader.ts";

const MINUTE_MS = 60_000;

/** A double with `octo/site`, and services over one store that is a file. */
async function open(files: GitFiles, settings: Record<string, string> = {}) {
  const folder = await Deno.makeTempDir();
  const path = join(folder, "kv");
  const clock = new TestClock(Date.now() + MINUTE_MS);
  const served = await serveRepository(files, { now: clock.now });
  const { gh } = served;
  gh.addToken("t1");
  const env = { LOG_LEVEL: "silent", GITHUB_TOKEN: "t1", ALLOWED_REPOS: "octo/*", ...settings };
  return {
    clock,
    gh,
    git: served.repository,
    start: async () => await startService({ env, github: gh, clock, kv: await Deno.openKv(path) }),
    /** What is stored now, as the kind and id of each entry's key. */
    async stored(): Promise<string[]> {
      using kv = await Deno.openKv(path);
      const entries = await Array.fromAsync(kv.list({ prefix: ["rc1", "m"] }));
      return entries.map(({ key }) => `${String(key.at(-3))} ${String(key.at(-1))}`).sort();
    },
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Waits until the background has written what it has to; fails by never ending. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!await condition()) await new Promise((resume) => setTimeout(resume, 5));
}

Deno.test("a second process answers a list of the first with its own branch question alone", async () => {
  await using opened = await open(textFiles(60));
  const { gh } = opened;
  await using first = await opened.start();
  await using second = await opened.start();
  const body = await first.list({ includeContent: true });
  await until(async () => (await opened.stored()).length === 1 + 2 + 50);

  gh.resetCounts();
  assertEquals(await second.list({ includeContent: true }), body);
  assertEquals(gh.counts(), { commit: 1 });
  assertEquals(gh.requests.map(({ status, conditional }) => [status, conditional]), [[304, true]]);
  assertEquals(await second.list(), await first.list());
  assertEquals(gh.counts(), { commit: 1 });
});

Deno.test("two processes that ask at the same time give the same, and neither loses what it has", async () => {
  await using opened = await open(textFiles(60));
  const { clock, gh } = opened;
  await using first = await opened.start();
  await using second = await opened.start();
  const both = () => Promise.all([first, second].map((one) => one.list({ includeContent: true })));
  const [one, other] = await both();
  assertEquals(one, other);
  clock.advance(MINUTE_MS);
  gh.resetCounts();
  await both();
  assertEquals(gh.counts(), { commit: 2 });
  assertEquals(gh.requests.map(({ status }) => status), [304, 304]);
});

Deno.test("a restart while the source is down gives what was known", async () => {
  await using opened = await open(textFiles(20));
  const { clock, gh } = opened;
  let body: ListBody;
  {
    await using first = await opened.start();
    body = await first.list({ includeContent: true });
  }
  await gh.down();
  clock.advance(3_600_000);
  await using second = await opened.start();
  const response = await second.get(listPath({ includeContent: true }));
  assertEquals(await response.json(), body);
  assertEquals(
    response.headers.get("cache-status"),
    "collections; hit; ttl=-3540; detail=stale-if-error",
  );
  assertEquals(response.headers.get("age"), "3600");
});

Deno.test("KV_WRITE_MB_PER_HOUR=0 writes no object, and memory holds what was read", async () => {
  await using opened = await open(textFiles(20), { KV_WRITE_MB_PER_HOUR: "0" });
  const { clock, gh } = opened;
  {
    await using service = await opened.start();
    await service.list({ includeContent: true });
    clock.advance(MINUTE_MS);
    gh.resetCounts();
    await service.list({ includeContent: true, page: 1 });
    assertEquals(gh.counts(), { commit: 1 });
  }
  assertEquals(await opened.stored(), ["ref main"]);
});

Deno.test("KV_WRITE_MB_PER_HOUR bounds what callers make the service write", async () => {
  const files = Array.from({ length: 8 }, (_, i) => [`p/${i}.bin`, randomBytes(500_000)] as const);
  await using opened = await open(files, { KV_WRITE_MB_PER_HOUR: "1" });
  {
    await using service = await opened.start();
    await service.list({ collection: "p", includeContent: true });
  }
  const blobs = (await opened.stored()).filter((key) => key.startsWith("blob "));
  assert(blobs.length >= 1 && blobs.length <= 2, `${blobs.length} blobs were written`);
});

Deno.test("a blob over 1 MiB is held in memory and not written", async () => {
  const files = { "p/large.txt": "x".repeat((1 << 20) + 1), "p/small.txt": "x".repeat(1 << 20) };
  await using opened = await open(files);
  const { gh, git } = opened;
  const item = (service: TestService) => service.item({ path: "p/large.txt" });
  {
    await using service = await opened.start();
    await service.list({ collection: "p", includeContent: true });
    gh.resetCounts();
    await item(service);
    assertEquals(gh.counts(), {});
  }
  const blobs = (await opened.stored()).filter((key) => key.startsWith("blob "));
  assertEquals(blobs, [`blob ${await git.resolve("main:p/small.txt")}`]);
  await using service = await opened.start();
  gh.resetCounts();
  await item(service);
  assertEquals(gh.counts(), { commit: 1, blob: 1 });
});

Deno.test("objects outlive a day in memory, and their day in the store does not end them there", async () => {
  await using opened = await open(textFiles(5));
  const { clock, gh } = opened;
  await using service = await opened.start();
  await service.list({ includeContent: true });
  clock.advance(3 * 24 * 60 * MINUTE_MS);
  gh.resetCounts();
  await service.list({ includeContent: true, limit: 5 });
  assertEquals(gh.counts(), { commit: 1 });
});

type Entry = { readonly key: Deno.KvKey; readonly value: unknown };

const at = fc.nat();
const damages = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("delete" as const), entry: at }),
    fc.record({ kind: fc.constant("cut" as const), entry: at, at }),
    fc.record({ kind: fc.constant("flip" as const), entry: at, at }),
    fc.record({ kind: fc.constant("overwrite" as const), entry: at, with: fc.uint8Array() }),
    fc.record({ kind: fc.constant("retype" as const), entry: at, with: fc.jsonValue() }),
    fc.record({ kind: fc.constant("swap" as const), entry: at, with: at }),
  ),
  { maxLength: 8 },
);
type Damage = ReturnType<typeof damages.generate>["value"][number];

function damaged(entries: readonly Entry[], all: readonly Damage[]): Entry[] {
  const result = entries.map(({ key, value }) => ({ key, value }));
  for (const damage of all) {
    if (result.length === 0) break;
    const index = damage.entry % result.length;
    const entry = result[index]!;
    const bytes = entry.value instanceof Uint8Array ? entry.value.slice() : new Uint8Array(1);
    if (damage.kind === "delete") result.splice(index, 1);
    else if (damage.kind === "cut") entry.value = bytes.slice(0, damage.at % (bytes.length + 1));
    else if (damage.kind === "flip") {
      if (bytes.length > 0) bytes[damage.at % bytes.length]! ^= 1 << (damage.at % 8);
      entry.value = bytes;
    } else if (damage.kind === "swap") {
      const other = result[damage.with % result.length]!;
      [entry.value, other.value] = [other.value, entry.value];
    } else entry.value = damage.with;
  }
  return result;
}

Deno.test("a damaged store never yields a wrong answer, whether the source is up or down", async () => {
  // Long enough to be cut into parts.
  const long = randomBytes(150_000);
  await using opened = await open([...textFiles(6), ["posts/long.bin", long]]);
  const { clock, gh } = opened;
  const env = { LOG_LEVEL: "silent", GITHUB_TOKEN: "t1", ALLOWED_REPOS: "octo/*" };
  const read = async (service: TestService) => {
    const response = await service.get(listPath({ includeContent: true }));
    return { status: response.status, body: await response.json() };
  };
  const entries: Entry[] = [];
  let truth: ListBody;
  {
    const kv = await Deno.openKv(":memory:");
    await using service = await startService({ env, github: gh, clock, kv });
    truth = (await read(service)).body;
    const list = () => Array.fromAsync(kv.list({ prefix: [] }));
    await until(async () => {
      const found = await list();
      const parts = found.filter(({ key }) => key[1] === "p").length;
      return found.length - parts === 1 + 2 + 7 && parts >= 2;
    });
    entries.push(...await list());
  }
  clock.advance(MINUTE_MS);
  const seen = { whole: 0, partly: 0, nothing: 0, asked: 0 };
  await fc.assert(
    fc.asyncProperty(damages, fc.boolean(), async (damages, isUp) => {
      const kv = await Deno.openKv(":memory:");
      for (const { key, value } of damaged(entries, damages)) await kv.set(key, value);
      await using service = await startService({ env, github: gh, clock, kv });
      gh.fault = isUp ? null : { kind: "status", status: 500 };
      gh.resetCounts();
      const { status, body } = await read(service);
      if (isUp) {
        assertEquals([status, body], [200, truth]);
        if (gh.requests.length > 1) seen.asked++;
        return;
      }
      if (status !== 200) {
        assertEquals([status, body.code], [502, "source-failed"]);
        seen.nothing++;
        return;
      }
      const items = truth.items.map((item, index) => {
        const { error } = (body as ListBody).items[index]!;
        if (error === undefined) return item;
        assertEquals(error.code, "source-failed");
        const { content: _, encoding: __, ...rest } = item;
        return { ...rest, error };
      });
      assertEquals(body, { ...truth, items });
      if (items.some((item) => "error" in item)) seen.partly++;
      else seen.whole++;
    }),
    { numRuns: 120 },
  );
  gh.fault = null;
  for (const [name, count] of Object.entries(seen)) assert(count > 0, `${name} never happened`);
});
