import { assert, assertEquals } from "@std/assert";
import { ResponseCache, type ResponseEntry } from "../../lib/http/response_cache.ts";
import { readyBody } from "../../lib/http/responses.ts";
import { randomBytes } from "../cache/watched_kv.ts";

/** The most that one entry may have is a quarter of this. */
const MAX_BYTES = 400_000;

async function entryOf(size: number, bytes = new Uint8Array(size)): Promise<ResponseEntry> {
  return {
    body: await readyBody({ bytes, contentType: "application/json" }),
    commit: "1",
    branch: "main",
    ref: { commit: "1", checkedAtMs: 0, freshForMs: 60_000, wantedAtMs: 0, previous: [] },
    repository: "octo/site",
    route: "/",
  };
}

/** Resolves when a body that was stored has its gzip coding. */
async function compressed({ body }: ResponseEntry): Promise<void> {
  while (body.gzip === null) await new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("ResponseCache compresses what it stores, and nothing else", async () => {
  const cache = new ResponseCache({ maxBytes: MAX_BYTES, now: () => 0 });
  const refused = await entryOf(110_000);
  const stored = await entryOf(90_000);

  cache.set("refused", refused);
  cache.set("stored", stored);
  // Both are as many pieces, so the one that came first would be ready first.
  await compressed(stored);

  assertEquals([cache.get("refused"), cache.get("stored")], [undefined, stored]);
  assertEquals(refused.body.gzip?.content.length, undefined);
});

Deno.test("ResponseCache compresses a body once, though it is stored again meanwhile, and counts both codings", async () => {
  const cache = new ResponseCache({ maxBytes: MAX_BYTES, now: () => 0 });
  // Half of it is as good as random: its two codings together are larger than one may be.
  const bytes = new Uint8Array(90_000);
  bytes.set(randomBytes(45_000));
  const first = await entryOf(bytes.length, bytes);
  const packed: ResponseEntry["body"]["gzip"][] = [];
  Object.defineProperty(first.body, "gzip", {
    get: () => packed.at(-1) ?? null,
    set: (value) => packed.push(value),
  });
  const second = { ...first, ref: { ...first.ref } };
  const longer = await entryOf(95_000);

  cache.set("a", first);
  cache.set("a", second);
  const bytesBefore = cache.bytes;
  await compressed(first);
  const bytesPacked = cache.bytes;
  // Begun last, so that everything begun before it has ended.
  cache.set("b", longer);
  await compressed(longer);

  assertEquals(packed.map((gzip) => gzip?.content.length), [bytesPacked - bytesBefore]);
  assert(cache.get("a")?.ref === second.ref);
});

Deno.test("ResponseCache fresh() gives a response of its ref's commit, from the check until it is old", async () => {
  const rows: [ageMs: number, commit: string, isFresh: boolean][] = [
    [0, "1", true],
    [59_999, "1", true],
    [60_000, "1", false],
    [-1, "1", false],
    [0, "2", false],
  ];
  for (const [ageMs, commit, isFresh] of rows) {
    const cache = new ResponseCache({ maxBytes: MAX_BYTES, now: () => 100_000 });
    const entry = await entryOf(10);
    cache.set("address", entry);
    cache.alias("request", "address");
    Object.assign(entry.ref, { checkedAtMs: 100_000 - ageMs, commit });

    const found = cache.fresh("request");
    const isWanted = entry.ref.wantedAtMs === 100_000;
    assertEquals([ageMs, commit, found === entry, isWanted], [ageMs, commit, isFresh, isFresh]);
  }
});
