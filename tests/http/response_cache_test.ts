import { assert, assertEquals } from "@std/assert";
import {
  ResponseCache,
  type ResponseEntry,
} from "../../lib/http/response_cache.ts";
import { readyBody } from "../../lib/http/responses.ts";
import { randomBytes } from "../cache/watched_kv.ts";
import { turns } from "../test_clock.ts";

/** The most that one entry may have is a quarter of this. */
const MAX_BYTES = 400_000;

async function entryOf(bytes: Uint8Array<ArrayBuffer>): Promise<ResponseEntry> {
  return {
    body: await readyBody({ bytes, contentType: "application/json" }),
    commit: "1",
    branch: "main",
    ref: { commit: "1", checkedAtMs: 0, freshForMs: 60_000, wantedAtMs: 0 },
    repository: "octo/site",
    route: "/",
    expiresAtMs: Infinity,
    checkedAtMs: 0,
  };
}

/** Resolves when a body that was stored has its gzip coding. */
async function compressed({ body }: ResponseEntry): Promise<void> {
  while (body.gzip === null) {
    await turns();
  }
}

Deno.test("ResponseCache compresses what it stores once", async () => {
  const cache = new ResponseCache({ maxBytes: MAX_BYTES, now: () => 0 });
  const refused = await entryOf(new Uint8Array(110_000));
  // Half of it is as good as random: its two codings together are larger than
  // one may be.
  const bytes = new Uint8Array(90_000);
  bytes.set(randomBytes(45_000));
  const first = await entryOf(bytes);
  const again = { ...first, ref: { ...first.ref } };
  const last = await entryOf(new Uint8Array(95_000));

  cache.set("refused", refused);
  cache.set("a", first);
  cache.set("a", again);
  const bytesBefore = cache.bytes;
  await compressed(first);
  const { gzip } = first.body;
  assertEquals(cache.bytes - bytesBefore, gzip?.content.length);
  assert(cache.get("a")?.ref === again.ref);

  cache.set("a", again);
  cache.set("last", last);
  // Begun last, and longer, so that everything begun before it has ended.
  await compressed(last);
  assert(first.body.gzip === gzip, "compressed once");
  assertEquals([cache.get("refused"), refused.body.gzip], [undefined, null]);
});

Deno.test("ResponseCache trim() halves the addresses too", async () => {
  const cache = new ResponseCache({ maxBytes: MAX_BYTES, now: () => 0 });
  cache.set("a", await entryOf(new Uint8Array(10)));
  for (let n = 0; n < 1_000; n++) cache.alias(`${n}`, "a");
  // Addresses have an eighth of the bytes.
  assert(cache.bytes > MAX_BYTES / 9, `${cache.bytes}`);
  cache.trim();
  assert(cache.bytes < MAX_BYTES / 12, `${cache.bytes}`);
  assert(cache.fresh("0") === null && cache.fresh("999") !== null);
});
