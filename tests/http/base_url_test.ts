// Where a request was sent to: the check of `Host`, the base of URLs, previews.

import { assert, assertEquals } from "@std/assert";
import type { ListBody, ProblemBody } from "../../lib/api/contract.ts";
import { baseUrl } from "../../lib/http/origin.ts";
import { json, rawRequest } from "../raw_http.ts";
import { listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

const FILES = { "posts/a.md": "" };
const LIST = listPath();
/**
 * Each of them once became part of the path or the query of the request's URL,
 * or of links.
 */
const NO_HOSTS = [
  "evil.test/x",
  "evil.test?x",
  "evil.test#x",
  "evil.test\\x",
  'a"b',
  "a b",
  "a:99999",
  "1.2.3.4.5",
  "a%zz",
  "xn--a",
  "user:secret@evil.test",
  "[::1",
];

Deno.test("a Host that is not host[:port] is a bad request", async () => {
  await using site = await startSite(FILES);
  const port = site.service.listen();
  await rawRequest(port, `GET ${LIST} HTTP/1.1`, "Host: evil.test");

  for (const host of [...NO_HOSTS, "a,b", ""]) {
    for (const start of [`GET ${LIST}`, "GET /", "HEAD /none", "POST /"]) {
      const response = await rawRequest(
        port,
        `${start} HTTP/1.1`,
        `Host: ${host}`,
      );

      assertEquals([host, start, response.status], [host, start, 400]);
      assertEquals(response.headers.get("access-control-allow-origin"), "*");
      const id = response.headers.get("x-request-id");
      assertEquals(site.service.logLines("request").at(-1)?.id, id);
      if (start.startsWith("HEAD")) continue;
      const { type, code, requestId, errors } = json<ProblemBody>(response);
      assert(
        /^http:\/\/[\w.,:-]+\/problems\/invalid-parameters$/.test(type),
        type,
      );
      assertEquals([code, requestId], ["invalid-parameters", id]);
      assertEquals(errors?.map(({ parameter }) => parameter), ["Host"]);
    }
  }
  const rows: [status: number, target: string, host: string][] = [
    // It makes the URL of the cached response.
    [400, LIST.replace("/api", ""), "evil.test/api"],
    [200, `http://a.test:81${LIST}`, "a.test"],
    [400, `http://user@a.test${LIST}`, "a.test"],
    [400, `http://user:secret@a.test${LIST}`, "a.test"],
    [400, `http://a"b${LIST}`, "a.test"],
    // RFC 3986, 3.2.3: a port is any number of digits.
    [200, LIST, "a.test:"],
    [200, LIST, "a.test:00081"],
    [400, LIST, "a.test:65536"],
  ];
  for (const [status, target, host] of rows) {
    const response = await rawRequest(
      port,
      `GET ${target} HTTP/1.1`,
      `Host: ${host}`,
    );
    assertEquals([target, response.status], [target, status]);
  }
});

Deno.test("baseUrl() takes only hosts and protocols from proxies", () => {
  const own = "http://own.test:8000";
  const rows: [
    origin: string,
    host: string,
    proto: string,
    trustProxy?: boolean,
  ][] = [
    ["http://b.test:8080", "a.test, c.test, b.test:8080", ""],
    ["http://[::1]:81", "[::1]:81", ""],
    ["https://b.test", "b.test", "http, HTTPS"],
    ["https://own.test:8000", "", "https"],
    [own, "b.test", "https", false],
    [own, "", "ftp"],
    [own, "", "https:"],
    [own, "", "http https"],
  ];
  for (const host of NO_HOSTS) rows.push([own, host, ""]);
  for (const [origin, host, proto, trustProxy = true] of rows) {
    const headers = { "x-forwarded-host": host, "x-forwarded-proto": proto };
    const request = new Request(`${own}/x`, { headers });
    const found = baseUrl(request, {
      publicUrl: null,
      trustProxy,
      isPreview: false,
    });
    assertEquals([host, proto, found], [host, proto, origin]);
  }
});

Deno.test("URLs begin with PUBLIC_URL, the proxy's host or the Host", async () => {
  const publicUrl = "https://api.test/collections";
  type Row = [
    env: Record<string, string>,
    baseOf: (own: string, forwarded: string) => string,
  ];
  const rows: Row[] = [
    [{}, (own) => own],
    [{ TRUST_PROXY: "true" }, (_own, forwarded) => forwarded],
    [{ TRUST_PROXY: "true", PUBLIC_URL: `${publicUrl}/` }, () => publicUrl],
  ];
  for (const [env, baseOf] of rows) {
    await using site = await startSite(FILES, { env });
    const { service } = site;
    const check = async (
      own: string,
      headers: Record<string, string>,
      forwarded = own,
    ) => {
      const expected = baseOf(own, forwarded);
      const response = await service.get(own + LIST, { headers });
      const { links, items }: ListBody = await response.json();
      for (
        const url of [
          links.self,
          links.first,
          links.last,
          items[0]!.contentUrl!,
        ]
      ) {
        assert(
          url.startsWith(`${expected}/api/`),
          `${url} with ${JSON.stringify(headers)}`,
        );
      }
      assert(response.headers.get("link")!.startsWith(`<${links.first}>`));
      const { type } = await service.problem(`${own}/none`, { headers });
      assertEquals(type, `${expected}/problems/route-not-found`);
    };
    for (
      const own of [
        "http://own.test:8000",
        "http://[::1]:8000",
        "http://own.test:8000",
      ]
    ) {
      for (const proto of ["http", "https"]) {
        const headers = {
          "x-forwarded-host": "x.test, a.test",
          "x-forwarded-proto": proto,
        };
        await check(own, headers, `${proto}://a.test`);
      }
      // A header that says null is not the key of a request without it.
      await check(own, { "x-forwarded-host": "null" }, "http://null");
      await check(own, {});
    }
  }
});

Deno.test("a preview answers loopback hosts and pages only", async () => {
  await using service = await startService({
    env: { LOCAL_REPOS_DIR: "" },
    isPreview: true,
  });
  const path = listPath({ owner: "local", repo: "blog" });
  const send = (host: string, origin?: string) =>
    service.send(`http://${host}${path}`, {
      headers: origin === undefined ? {} : { origin },
    });
  const mayRead = [
    undefined,
    "http://localhost:5173",
    "https://127.0.0.1",
    "http://[::1]",
  ];
  const mayNot = ["https://evil.test", "null", "http://localhost.evil.test"];

  for (
    const host of [
      "localhost:8000",
      "127.0.0.1:8000",
      "[::1]:8000",
      "site.localhost",
    ]
  ) {
    // Twice: the second response comes from the cache.
    for (const origin of [...mayRead, ...mayNot, ...mayNot]) {
      const { status, headers } = await send(host, origin);
      assertEquals([host, origin, status], [host, origin, 200]);
      assertEquals(headers.get("cross-origin-resource-policy"), "same-site");
      const cors = [...headers.keys()].filter((name) =>
        name.startsWith("access-control-")
      );
      const isRefused = mayNot.some((one) => one === origin);
      assertEquals([host, origin, cors.length], [
        host,
        origin,
        isRefused ? 0 : 2,
      ]);
    }
  }
  for (
    const host of [
      "evil.test",
      "127.0.0.1.evil.test",
      "192.0.2.1",
      "localhost.evil.test",
    ]
  ) {
    const response = await send(host);
    assertEquals([host, response.status], [host, 400]);
    assertEquals((await response.json()).errors[0].parameter, "Host");
  }
});
