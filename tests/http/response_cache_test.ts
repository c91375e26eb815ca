import { assert, assertEquals } from "@std/assert";
import { ResponseCache, type ResponseEntry } from "../../lib/http/response_cache.ts";
import { readyBody } from "../../lib/http/responses.ts";

/** The most that one entry may have is a quarter of this. */
const MAX_BYTES = 400_000;

async function entryOf(size: number, bytes = new Uint8Array(size)): Promise<ResponseEntry> {
  return {
    body: await readyBody({ bytes, contentType: "application/json" }),
    commit: "1",
    branch: "main",
    ref: { commit: "1", checkedAtMs: 0, freshForMs: 60_000, wantedAtMs: 0 },
    repository: "octo/site",
    route: "/",
  };
}

Deno.test("ResponseCache compresses what it stores, and nothing else", async () => {
  const cache = new ResponseCache({ maxBytes: MAX_BYTES, now: () => 0 });
  const refused = await entryOf(110_000);
  const stored = await entryOf(90_000);

  cache.set("refused", refused);
  cache.set("stored", stored);
  // Both are as many pieces, so the one that came first would be ready first.
  while (stored.body.gzip === null) await new Promise((resolve) => setTimeout(resolve, 0));

  assertEquals([cache.get("refused"), cache.get("stored")], [undefined, stored]);
  assertEquals(refused.body.gzip?.content.length, undefined);
});

Deno.test("ResponseCache compresses a body once, though it is stored again meanwhile, and counts both codings", async () => {
  const cache = new ResponseCache({ maxBytes: MAX_BYTES, now: () => 0 });
  const first = await entryOf(70_000);
  let packed = 0;
  let gzip = first.body.gzip;
  Object.defineProperty(first.body, "gzip", {
    get: () => gzip,
    set: (value) => {
      packed++;
      gzip = value;
    },
  });
  const second = { ...first, ref: { ...first.ref } };
  const longer = await entryOf(95_000);

  cache.set("a", first);
  cache.set("a", second);
  const bytesBefore = cache.bytes;
  while (gzip === null) await new Promise((resolve) => setTimeout(resolve, 0));
  // Begun last, so that everything begun before it has ended.
  const bytesPacked = cache.bytes;
  cache.set("b", longer);
  while (longer.body.gzip === null) await new Promise((resolve) => setTimeout(resolve, 0));

  assertEquals(packed, 1);
  assert(cache.get("a")?.ref === second.ref);
  assertEquals(bytesPacked - bytesBefore, gzip.content.length);
});

Deno.test("ResponseCache stores a body whose two codings together are larger than one may be", async () => {
  const cache = new ResponseCache({ maxBytes: MAX_BYTES, now: () => 0 });
  // Half of it is as good as random, so that its gzip coding is long.
  let state = 1;
  const bytes = new Uint8Array(90_000);
  for (let at = 0; at < 45_000; at++) {
    bytes[at] = (state = Math.imul(state, 1664525) + 1013904223) >>> 24;
  }
  const entry = await entryOf(bytes.length, bytes);

  cache.set("a", entry);
  while (entry.body.gzip === null) await new Promise((resolve) => setTimeout(resolve, 0));

  assert(cache.bytes > 130_000 && cache.get("a") !== undefined);
});
