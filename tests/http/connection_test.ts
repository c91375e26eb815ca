// Requests as no client library would send them, over a real connection.

import { assert, assertEquals } from "@std/assert";
import type { ListBody, ProblemBody } from "../../lib/api/contract.ts";
import { rawRequest, type RawResponse } from "../raw_http.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

const LIST = listPath();

function json<T>({ body }: RawResponse): T {
  return JSON.parse(new TextDecoder().decode(body));
}

Deno.test("bytes that are no UTF-8 in a query are a bad parameter", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const port = site.service.listen();
  const query = "owner=octo&repo=site&collection=";

  for (const bad of ["%ff", "%c3%28", "%", "%2", "%u0041"]) {
    const target = `/api/list-collection-items?${query}${bad}`;
    const response = await rawRequest(port, `GET ${target} HTTP/1.1`, "Host: localhost");

    assertEquals([bad, response.status], [bad, 400]);
    assertEquals(json<ProblemBody>(response).errors?.map(({ parameter }) => parameter), [
      "collection",
    ]);
  }
});

Deno.test("a Host that is none is a bad request, like any other problem", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const port = site.service.listen();

  for (const host of ["a b", "<b>", "a:99999", "1.2.3.4.5", "a%zz", "xn--a"]) {
    const response = await rawRequest(port, `GET ${LIST} HTTP/1.1`, `Host: ${host}`);

    assertEquals([host, response.status], [host, 400]);
    assertEquals(response.headers.get("access-control-allow-origin"), "*");
    const { code, requestId, errors } = json<ProblemBody>(response);
    assertEquals([code, errors?.[0]?.parameter], ["invalid-parameters", "Host"]);
    assertEquals(response.headers.get("x-request-id"), requestId);
    assertEquals(site.service.logLines("request").at(-1)?.id, requestId);
  }
});

Deno.test("a Host never brings more than a host into an answer's addresses", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const port = site.service.listen();

  for (
    const host of ["user:secret@evil.test", "a,b", "evil.test/x", "evil.test?x", "evil.test#x"]
  ) {
    const response = await rawRequest(port, `GET ${LIST} HTTP/1.1`, `Host: ${host}`);
    const text = new TextDecoder().decode(response.body);

    // What follows the host makes it another address, at which no list is.
    const isList = response.headers.get("content-type") === "application/json";
    assertEquals([host, isList], [host, !host.startsWith("evil")]);
    assert(
      !text.includes("secret") && !text.includes("evil.test?") && !text.includes("evil.test#"),
    );
    if (isList) {
      assertEquals(new URL(json<ListBody>(response).links.self).pathname, LIST.split("?")[0]);
    }
  }
});

Deno.test("an answer's addresses begin with the Host that was asked, each Host kept apart", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const port = site.service.listen();

  for (const host of ["a.test", "b.test:8080", "[::1]:8000", "a.test"]) {
    const response = await rawRequest(port, `GET ${LIST} HTTP/1.1`, `Host: ${host}`);
    const { links, items } = json<ListBody>(response);

    assertEquals(new URL(links.self).host, host);
    assertEquals(new URL(items[0]!.contentUrl).host, host);
  }
});

Deno.test("dots in a request's path lead nowhere", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const port = site.service.listen();

  for (
    const path of ["/../deno.json", "/%2e%2e/deno.json", "/api/..%2f..%2fmain.ts", "/..\\main.ts"]
  ) {
    const response = await rawRequest(port, `GET ${path} HTTP/1.1`, "Host: localhost");

    assertEquals([path, response.status], [path, 404]);
    assertEquals(json<ProblemBody>(response).code, "route-not-found");
  }
});

Deno.test("methods that a browser forbids are not allowed here either", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const port = site.service.listen();

  for (const method of ["TRACE", "BREW", "get"]) {
    const response = await rawRequest(port, `${method} ${LIST} HTTP/1.1`, "Host: localhost");

    assertEquals([method, response.status], [method, 405]);
    assertEquals(response.headers.get("access-control-allow-origin"), "*");
    assertEquals(response.headers.get("allow"), "GET, HEAD, OPTIONS");
  }
});
