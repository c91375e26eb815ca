// Where a request was sent to: the check of `Host`, the base of URLs, previews.

import { assert, assertEquals } from "@std/assert";
import type { ListBody, ProblemBody } from "../../lib/api/contract.ts";
import { baseUrl } from "../../lib/http/state.ts";
import { json, rawRequest } from "../raw_http.ts";
import { listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

const FILES = { "posts/a.md": "" };
const LIST = listPath();
/** Each of them once became part of the path or the query of the request's URL, or of links. */
const NO_HOSTS = [
  ...["evil.test/x", "evil.test?x", "evil.test#x", "evil.test\\x", "evil.test/api/health?", 'a"b'],
  ...["a b", "<b>", "a:99999", "1.2.3.4.5", "a%zz", "xn--a", "user:secret@evil.test", "a,b", ""],
];

Deno.test("a Host that is not host[:port] is a bad request, whatever the path and method; an absolute address must have one too", async () => {
  await using site = await startSite(FILES);
  const port = site.service.listen();
  await rawRequest(port, `GET ${LIST} HTTP/1.1`, "Host: evil.test");

  for (const host of NO_HOSTS) {
    for (const start of [`GET ${LIST}`, "GET /", "HEAD /none", "POST /"]) {
      const response = await rawRequest(port, `${start} HTTP/1.1`, `Host: ${host}`);

      assertEquals([host, start, response.status], [host, start, 400]);
      assertEquals(response.headers.get("access-control-allow-origin"), "*");
      const id = response.headers.get("x-request-id");
      assertEquals(site.service.logLines("request").at(-1)?.id, id);
      if (start.startsWith("HEAD")) continue;
      const { code, requestId, errors } = json<ProblemBody>(response);
      assertEquals([code, requestId], ["invalid-parameters", id]);
      assertEquals(errors?.map(({ parameter }) => parameter), ["Host"]);
    }
  }
  // It makes the URL of the cached response.
  const line = `GET ${LIST.replace("/api", "")} HTTP/1.1`;
  assertEquals((await rawRequest(port, line, "Host: evil.test/api")).status, 400);
  const authorities = {
    "a.test:81": 200,
    "user@a.test": 400,
    "user:secret@a.test": 400,
    'a"b': 400,
  };
  for (const [authority, status] of Object.entries(authorities)) {
    const line = `GET http://${authority}${LIST} HTTP/1.1`;
    assertEquals([line, (await rawRequest(port, line, "Host: a.test")).status], [line, status]);
  }
});

Deno.test("URLs in a response begin with the Host of the request, each Host cached by itself", async () => {
  await using site = await startSite(FILES);
  const port = site.service.listen();

  for (const host of ["a.test", "b.test:8080", "[::1]:8000", "a.test"]) {
    const response = await rawRequest(port, `GET ${LIST} HTTP/1.1`, `Host: ${host}`);
    const { links, items } = json<ListBody>(response);
    for (const url of [links.self, items[0]!.contentUrl!]) assertEquals(new URL(url).host, host);
  }
});

Deno.test("baseUrl() takes from a proxy nothing that is no host or protocol", () => {
  const own = "http://own.test:8000";
  const rows: [host: string, proto: string, origin: string][] = [
    ["a.test, c.test, b.test:8080", "", "http://b.test:8080"],
    ["[::1]:81", "", "http://[::1]:81"],
    ["b.test", "http, HTTPS", "https://b.test"],
    ["", "https", "https://own.test:8000"],
    ...NO_HOSTS.with(NO_HOSTS.indexOf("a,b"), "[::1").map((
      host,
    ): typeof rows[0] => [host, "", own]),
    ...["ftp", "javascript", "https:", "http https"].map((
      proto,
    ): typeof rows[0] => ["", proto, own]),
  ];
  for (const [host, proto, origin] of rows) {
    const headers = { "x-forwarded-host": host, "x-forwarded-proto": proto };
    const request = new Request(`${own}/x`, { headers });
    const found = baseUrl(request, { publicUrl: null, trustProxy: true, isPreview: false });
    assertEquals([host, proto, found], [host, proto, origin]);
  }
});

Deno.test("PUBLIC_URL is the base of every URL in responses and problems", async () => {
  await using site = await startSite(FILES, {
    env: { PUBLIC_URL: "https://api.test/collections/", TRUST_PROXY: "true" },
  });
  const { service } = site;
  const headers = { "x-forwarded-host": "evil.test" };

  for (const url of [LIST, LIST, `http://other.test${LIST}`]) {
    const response = await service.get(url, { headers });
    const { links, items }: ListBody = await response.json();
    for (const address of [links.self, links.first, links.last, items[0]!.contentUrl!]) {
      assert(address.startsWith("https://api.test/collections/api/"), address);
    }
    assert(response.headers.get("link")!.startsWith(`<${links.first}>`));
  }
  const { type } = await service.problem("/none", { headers });
  assertEquals(type, "https://api.test/collections/problems/route-not-found");
});

Deno.test("forwarded headers count behind a trusted proxy only, each origin cached by itself", async () => {
  const own = "http://localhost:8000";
  for (const trust of ["false", "true"]) {
    await using site = await startSite(FILES, { env: { TRUST_PROXY: trust } });
    const originFor = async (headers: Record<string, string>) =>
      new URL((await site.service.list({}, { headers })).links.self).origin;
    for (const host of ["a.test", "b.test", "a.test"]) {
      for (const proto of ["http", "https"]) {
        const headers = { "x-forwarded-host": `x.test, ${host}`, "x-forwarded-proto": proto };
        assertEquals(await originFor(headers), trust === "true" ? `${proto}://${host}` : own);
      }
    }
    // A header that says null is not the key of a request without it.
    await originFor({ "x-forwarded-host": "null" });
    assertEquals(await originFor({}), own);
  }
});

Deno.test("a preview answers loopback hosts only, and pages of loopback origins only may read it", async () => {
  await using service = await startService({ env: { LOCAL_REPOS_DIR: "" }, isPreview: true });
  const path = listPath({ owner: "local", repo: "blog" });
  const send = (host: string, origin?: string) =>
    service.send(`http://${host}${path}`, { headers: origin === undefined ? {} : { origin } });
  const mayRead = [undefined, "http://localhost:5173", "https://127.0.0.1", "http://[::1]"];
  const mayNot = ["https://evil.test", "null", "http://localhost.evil.test"];

  for (const host of ["localhost:8000", "127.0.0.1:8000", "[::1]:8000", "site.localhost"]) {
    // Twice: the second response comes from the cache.
    for (const origin of [...mayRead, ...mayNot, ...mayNot]) {
      const { status, headers } = await send(host, origin);
      assertEquals([host, origin, status], [host, origin, 200]);
      assertEquals(headers.get("cross-origin-resource-policy"), "same-site");
      const cors = [...headers.keys()].filter((name) => name.startsWith("access-control-"));
      const isRefused = mayNot.some((one) => one === origin);
      assertEquals([host, origin, cors.length], [host, origin, isRefused ? 0 : 2]);
    }
  }
  for (const host of ["evil.test", "127.0.0.1.evil.test", "192.0.2.1", "localhost.evil.test"]) {
    const response = await send(host);
    assertEquals([host, response.status], [host, 400]);
    assertEquals((await response.json()).errors[0].parameter, "Host");
  }
});
