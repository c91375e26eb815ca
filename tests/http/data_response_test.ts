import { assertEquals } from "@std/assert";
import { chooseForm, dataResponse, type Standing } from "../../lib/http/data_response.ts";
import { readyBody } from "../../lib/http/ready_body.ts";

async function cacheControlOf(standing: Partial<Standing>): Promise<string | null> {
  const body = await readyBody({ bytes: new Uint8Array(1), contentType: "text/plain" });
  const response = dataResponse(chooseForm(body, new Headers()), {
    standing: { askedAtMs: 0, freshMs: 60_000, cacheStatus: "hit", ...standing },
    requestId: "1",
    nowMs: 0,
  });
  return response.headers.get("cache-control");
}

Deno.test("dataResponse() lets caches keep an answer for as long as its check is good", async () => {
  assertEquals(await cacheControlOf({}), "public, max-age=60");
  assertEquals(await cacheControlOf({ freshMs: 59_999 }), "public, max-age=59");
  assertEquals(await cacheControlOf({ freshMs: 30_000 }), "public, max-age=30");
  assertEquals(await cacheControlOf({ freshMs: 1_000 }), "no-cache");
  assertEquals(await cacheControlOf({ isKept: false }), "no-store");
});
