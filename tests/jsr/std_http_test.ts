// @std/http as this service relies on it. The same tests hold for the stand-in and the published package.

import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { acceptsEncodings, eTag, STATUS_CODE, STATUS_TEXT } from "@std/http";

Deno.test("eTag() gives a strong tag of size and digest for content", async () => {
  const bytes = new TextEncoder().encode("hello deno!");

  assertEquals(await eTag(""), '"0-47DEQpj8HBSa+/TImW+5JCeuQeR"');
  assertMatch(await eTag("hello deno!"), /^"b-[A-Za-z0-9+/]{27}"$/);
  assertEquals(await eTag(bytes), await eTag("hello deno!"));
  assertNotEquals(await eTag("hello deno?"), await eTag("hello deno!"));
  assertMatch(await eTag("é"), /^"2-/);
});

Deno.test("eTag() gives a weak tag when asked to", async () => {
  assertEquals(await eTag("hello deno!", { weak: true }), `W/${await eTag("hello deno!")}`);
});

Deno.test("acceptsEncodings() picks the best of the given encodings", () => {
  const pick = (header: string | null, ...encodings: string[]) =>
    acceptsEncodings(
      new Request("http://localhost", {
        headers: header === null ? {} : { "accept-encoding": header },
      }),
      ...encodings,
    );

  assertEquals(pick(null, "br", "identity"), "br");
  assertEquals(pick("gzip, br", "br", "gzip", "identity"), "gzip");
  assertEquals(pick("gzip;q=0.5, br;q=0.8", "gzip", "br", "identity"), "br");
  assertEquals(pick("gzip;q=0", "gzip", "identity"), "identity");
  assertEquals(pick("GZIP", "gzip", "identity"), "gzip");
  assertEquals(pick("*", "br", "gzip", "identity"), "br");
  assertEquals(pick("gzip, *;q=0.5", "br", "gzip", "identity"), "gzip");
  assertEquals(pick("gzip;q=0, *", "gzip", "br", "identity"), "br");
  assertEquals(pick("identity;q=0, gzip;q=0", "gzip", "identity"), undefined);
  assertEquals(pick("*;q=0", "gzip", "identity"), undefined);
  assertEquals(pick("deflate", "gzip", "identity"), "identity");
});

Deno.test("acceptsEncodings() lists what a request accepts, the best first", () => {
  const list = (headers: HeadersInit) =>
    acceptsEncodings(new Request("http://localhost", { headers }));

  assertEquals(list({}), ["*"]);
  assertEquals(list({ "accept-encoding": "deflate, gzip;q=1.0, *;q=0.5" }), [
    "deflate",
    "gzip",
    "*",
  ]);
  assertEquals(list({ "accept-encoding": "br;q=0.2, gzip" }), ["gzip", "br", "identity"]);
});

Deno.test("STATUS_TEXT has the text of a status code", () => {
  assertEquals(STATUS_TEXT[STATUS_CODE.NotFound], "Not Found");
  assertEquals(STATUS_TEXT[429], "Too Many Requests");
  assertEquals(STATUS_TEXT[414], "URI Too Long");
  assertEquals(STATUS_TEXT[418], "I'm a teapot");
});
