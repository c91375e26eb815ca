// @std/http as this service relies on it. The same tests run on the stand-in and the published package.

import { assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { acceptsEncodings, eTag, ifNoneMatch, serveDir, STATUS_CODE, STATUS_TEXT } from "@std/http";
import { join } from "@std/path";

Deno.test("eTag() gives a strong tag of size and digest for content", async () => {
  const bytes = new TextEncoder().encode("hello deno!");

  assertEquals(await eTag(""), '"0-47DEQpj8HBSa+/TImW+5JCeuQeR"');
  assertMatch(await eTag("hello deno!"), /^"b-[A-Za-z0-9+/]{27}"$/);
  assertEquals(await eTag(bytes), await eTag("hello deno!"));
  assertNotEquals(await eTag("hello deno?"), await eTag("hello deno!"));
  assertMatch(await eTag("é"), /^"2-/);
});

Deno.test("eTag() gives a weak tag for a file's size and time", async () => {
  const file = { size: 16, mtime: new Date(0) };

  assertMatch(await eTag(file) ?? "", /^W\/"10-[A-Za-z0-9+/]{27}"$/);
  assertEquals(await eTag({ size: 16, mtime: null }), undefined);
});

Deno.test("ifNoneMatch() is false when a tag of the header is the given one", () => {
  assertEquals(ifNoneMatch('"a"', '"a"'), false);
  assertEquals(ifNoneMatch('"b", W/"a"', '"a"'), false);
  assertEquals(ifNoneMatch('"a"', 'W/"a"'), false);
  assertEquals(ifNoneMatch("*", '"a"'), false);
  assertEquals(ifNoneMatch('"b"', '"a"'), true);
  assertEquals(ifNoneMatch(null, '"a"'), true);
  assertEquals(ifNoneMatch('"a"', undefined), true);
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

async function withFolder(
  test: (serve: (path: string, init?: RequestInit) => Promise<Response>) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    const fsRoot = join(root, "public");
    await Deno.mkdir(join(fsRoot, "docs"), { recursive: true });
    await Deno.mkdir(join(fsRoot, "empty"));
    await Deno.writeTextFile(join(root, "secret.txt"), "secret");
    await Deno.writeTextFile(join(fsRoot, "index.html"), "<h1>root</h1>");
    await Deno.writeTextFile(join(fsRoot, "app.js"), "let a;");
    await Deno.writeTextFile(join(fsRoot, ".hidden"), "hidden");
    await Deno.writeTextFile(join(fsRoot, "docs", "index.html"), "<h1>docs</h1>");
    await test((path, init) =>
      serveDir(new Request(`http://localhost${path}`, init), {
        fsRoot,
        urlRoot: "static",
        quiet: true,
        headers: ["Cache-Control: max-age=60"],
      })
    );
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("serveDir() serves a file with its type, tag and the given headers", async () => {
  await withFolder(async (serve) => {
    const response = await serve("/static/app.js");

    assertEquals(response.status, 200);
    assertMatch(response.headers.get("content-type") ?? "", /^text\/javascript; charset=utf-8$/i);
    assertEquals(response.headers.get("content-length"), "6");
    assertEquals(response.headers.get("cache-control"), "max-age=60");
    assertMatch(response.headers.get("etag") ?? "", /^W\/"6-/);
    assertEquals(await response.text(), "let a;");
  });
});

Deno.test("serveDir() answers HEAD with the headers alone", async () => {
  await withFolder(async (serve) => {
    const response = await serve("/static/app.js", { method: "HEAD" });

    assertEquals(response.status, 200);
    assertEquals(response.headers.get("content-length"), "6");
    assertEquals(await response.text(), "");
  });
});

Deno.test("serveDir() answers 304 to a client that has the file", async () => {
  await withFolder(async (serve) => {
    const { headers } = await serve("/static/app.js", { method: "HEAD" });
    const etag = headers.get("etag") ?? "";
    const modified = headers.get("last-modified") ?? "";

    const byTag = await serve("/static/app.js", { headers: { "if-none-match": etag } });
    const byTime = await serve("/static/app.js", { headers: { "if-modified-since": modified } });
    const changed = await serve("/static/app.js", {
      headers: { "if-none-match": '"other"', "if-modified-since": modified },
    });

    assertEquals([byTag.status, byTime.status, changed.status], [304, 304, 200]);
    assertEquals(byTag.headers.get("etag"), etag);
    assertEquals(await byTag.text(), "");
    await changed.body?.cancel();
  });
});

Deno.test("serveDir() answers a folder with its index.html", async () => {
  await withFolder(async (serve) => {
    const root = await serve("/static/");
    const docs = await serve("/static/docs/");

    assertStringIncludes(root.headers.get("content-type") ?? "", "text/html");
    assertEquals(await root.text(), "<h1>root</h1>");
    assertEquals(await docs.text(), "<h1>docs</h1>");
    assertEquals((await serve("/static/empty/")).status, 404);
  });
});

Deno.test("serveDir() redirects to a path's normal form, with a slash for folders alone", async () => {
  await withFolder(async (serve) => {
    const moved = {
      "/static/docs?a=1": "/static/docs/?a=1",
      "/static/app.js/": "/static/app.js",
      "/static//docs///": "/static/docs/",
      "/static/docs/..%2fapp.js": "/static/app.js",
    };
    for (const [from, to] of Object.entries(moved)) {
      const { status, headers } = await serve(from);
      assertEquals([status, headers.get("location")], [301, `http://localhost${to}`], from);
      assertEquals(headers.has("cache-control"), false);
    }
  });
});

Deno.test("serveDir() answers one range of bytes, and 416 to one outside the file", async () => {
  await withFolder(async (serve) => {
    const send = async (range: string, method = "GET") => {
      const { status, headers, ...response } = await serve("/static/app.js", {
        method,
        headers: { range },
      }).then(async (given) => ({
        status: given.status,
        headers: given.headers,
        text: await given.text(),
      }));
      return [status, headers.get("content-range"), headers.get("content-length"), response.text];
    };
    const whole = [200, null, "6", "let a;"];

    assertEquals(await send("bytes=1-2"), [206, "bytes 1-2/6", "2", "et"]);
    assertEquals(await send("bytes=4-"), [206, "bytes 4-5/6", "2", "a;"]);
    assertEquals(await send("bytes=-2"), [206, "bytes 4-5/6", "2", "a;"]);
    assertEquals(await send("bytes=0-99"), [206, "bytes 0-5/6", "6", "let a;"]);
    assertEquals((await send("bytes=6-")).slice(0, 2), [416, "bytes */6"]);
    assertEquals((await send("bytes=3-2")).slice(0, 2), [416, "bytes */6"]);
    assertEquals(await send("lines=1-2"), whole);
    assertEquals(await send("bytes=-"), whole);
    assertEquals(await send("bytes=1-2", "HEAD"), [200, null, "6", ""]);
    const { headers, body } = await serve("/static/app.js");
    assertEquals(headers.get("accept-ranges"), "bytes");
    await body?.cancel();
  });
});

Deno.test("serveDir() reads a long range in parts", async () => {
  const fsRoot = await Deno.makeTempDir();
  try {
    const bytes = Uint8Array.from({ length: 200_000 }, (_, index) => index % 251);
    await Deno.writeFile(join(fsRoot, "big"), bytes);
    const headers = { range: "bytes=10-150000" };
    const request = new Request("http://localhost/big", { headers });
    const response = await serveDir(request, { fsRoot, quiet: true });
    assertEquals(await response.bytes(), bytes.slice(10, 150_001));
  } finally {
    await Deno.remove(fsRoot, { recursive: true });
  }
});

Deno.test("serveDir() answers 404 to what is missing, or outside its folder or its path", async () => {
  await withFolder(async (serve) => {
    const paths = [
      "/static/missing",
      "/app.js",
      "/static/..%2fsecret.txt",
      "/static/%2e%2e%2fsecret.txt",
      "/static/docs/..%2f..%2fsecret.txt",
    ];
    for (const path of paths) {
      const response = await serve(path);
      assertEquals(response.status, 404, path);
      await response.body?.cancel();
    }
  });
});

Deno.test("serveDir() answers 405 to another method", async () => {
  await withFolder(async (serve) => {
    const response = await serve("/static/app.js", { method: "POST" });

    assertEquals(response.status, 405);
    await response.body?.cancel();
  });
});
