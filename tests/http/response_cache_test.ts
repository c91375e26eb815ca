import { assertEquals } from "@std/assert";
import { readyBody } from "../../lib/http/ready_body.ts";
import { ResponseCache, type ResponseEntry } from "../../lib/http/response_cache.ts";

/** A quarter of this is the most that one entry may have. */
const MAX_BYTES = 400_000;

async function entryOf(bytes: number): Promise<ResponseEntry> {
  return {
    body: await readyBody({ bytes: new Uint8Array(bytes), contentType: "application/json" }),
    commit: "1",
    branch: "main",
    check: { commit: "1", askedAtMs: 0, freshMs: 60_000, wantedAtMs: 0 },
    subject: "octo/site",
    route: "/",
  };
}

Deno.test("ResponseCache compresses what it keeps, and nothing else", async () => {
  const cache = new ResponseCache({ maxBytes: MAX_BYTES, now: () => 0 });
  const refused = await entryOf(110_000);
  const kept = await entryOf(90_000);

  cache.set("refused", refused);
  cache.set("kept", kept);
  // Both are as many slices, so the one that came first would be ready first.
  while (kept.body.gzip === null) await new Promise((resolve) => setTimeout(resolve, 0));

  assertEquals([cache.get("refused"), cache.get("kept")], [undefined, kept]);
  assertEquals(refused.body.gzip?.bytes.length, undefined);
});
