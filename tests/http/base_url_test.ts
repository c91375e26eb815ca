// Where a request was sent to: the check of `Host`, the base of URLs, previews.

import { assert, assertEquals } from "@std/assert";
import type { ListBody, ProblemBody } from "../../lib/api/contract.ts";
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

  const starts = [`GET ${LIST}`, "HEAD /none", "POST /"];
  for (const host of [...NO_HOSTS, "a,b", ""]) {
    for (const start of starts) {
      const lines = [`${start} HTTP/1.1`, `Host: ${host}`];
      const response = await rawRequest(port, ...lines);
      assertEquals([host, start, response.status], [host, start, 400]);
      if (start.startsWith("HEAD")) continue;
      const { type, errors } = json<ProblemBody>(response);
      assert(
        /^http:\/\/[\w.,:-]+\/problems\/invalid-parameters$/.test(type),
        type,
      );
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
    const lines = [`GET ${target} HTTP/1.1`, `Host: ${host}`];
    const response = await rawRequest(port, ...lines);
    assertEquals([target, response.status], [target, status]);
  }
});

const OWN = "http://own.test:8000";
const PROXY = { TRUST_PROXY: "true" };

/** The base of the URLs in a response, by settings and forwarded headers. */
const BASES: readonly {
  base: string;
  env: Record<string, string>;
  own?: string;
  host?: string;
  proto?: string;
}[] = [
  { base: "http://[::1]:81", env: {}, own: "http://[::1]:81" },
  { base: OWN, env: {}, host: "b.test", proto: "https" },
  { base: OWN, env: PROXY },
  { base: "http://b.test:8080", env: PROXY, host: "a.test, b.test:8080" },
  { base: "http://[::1]:81", env: PROXY, host: "[::1]:81" },
  { base: "https://b.test", env: PROXY, host: "b.test", proto: "http, HTTPS" },
  { base: "https://own.test:8000", env: PROXY, proto: "https" },
  // A header that says null is not the key of a request without it.
  { base: "http://null", env: PROXY, host: "null" },
  ...["ftp", "https:", "http https"].map((proto) => (
    { base: OWN, env: PROXY, proto }
  )),
  ...NO_HOSTS.map((host) => ({ base: OWN, env: PROXY, host })),
  {
    base: "https://api.test/collections",
    env: { ...PROXY, PUBLIC_URL: "https://api.test/collections/" },
    host: "b.test",
  },
];

Deno.test("URLs begin with PUBLIC_URL, the proxy's host or the Host", async () => {
  const settings = new Set(BASES.map(({ env }) => JSON.stringify(env)));
  for (const setting of settings) {
    await using site = await startSite(FILES, { env: JSON.parse(setting) });
    const { service } = site;
    const rows = BASES.filter(({ env }) => JSON.stringify(env) === setting);
    // Again from the cache.
    for (const row of [...rows, ...rows]) {
      const { base, own = OWN, host, proto } = row;
      const headers = {
        ...host !== undefined && { "x-forwarded-host": host },
        ...proto !== undefined && { "x-forwarded-proto": proto },
      };
      const response = await service.get(own + LIST, { headers });
      const { links, items }: ListBody = await response.json();
      const { type } = await service.problem(`${own}/none`, { headers });
      for (const url of [links.self, items[0]!.contentUrl!, type]) {
        const [found] = url.split(/\/(api|problems)\//);
        assertEquals([row, found], [row, base]);
      }
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
  const origins: [origin: string | undefined, mayRead: boolean][] = [
    [undefined, true],
    ["http://localhost:5173", true],
    ["http://[::1]", true],
    ["https://evil.test", false],
    ["null", false],
    ["http://localhost.evil.test", false],
  ];
  const hosts = ["localhost:8000", "127.0.0.1:8000", "[::1]", "a.localhost"];
  for (const host of hosts) {
    // The next response comes from the cache.
    for (const [origin, mayRead] of origins) {
      const { status, headers } = await send(host, origin);
      assertEquals([host, origin, status], [host, origin, 200]);
      assertEquals(headers.get("cross-origin-resource-policy"), "same-site");
      const cors = [...headers.keys()].filter((name) =>
        name.startsWith("access-control-")
      );
      assertEquals([host, origin, cors.length], [
        host,
        origin,
        mayRead ? 2 : 0,
      ]);
    }
  }
  const others = ["evil.test", "127.0.0.1.evil.test", "192.0.2.1"];
  for (const host of others) {
    const response = await send(host);
    assertEquals([host, response.status], [host, 400]);
    assertEquals((await response.json()).errors[0].parameter, "Host");
  }
});

Deno.test("the OpenAPI document of another host costs a miss", async () => {
  await using service = await startService({
    env: { MISSES_PER_MINUTE: "2" },
  });
  const statusOf = async (host: string) => {
    const url = `http://${host}.test/api/openapi.json`;
    const response = await service.send(url);
    const text = await response.text();
    if (response.ok) assert(text.includes(`http://${host}.test/`));
    return response.status;
  };
  const hosts = ["one", "one", "two", "two", "one", "three", "one"];
  const statuses: number[] = [];
  for (const host of hosts) statuses.push(await statusOf(host));
  assertEquals(statuses, [200, 200, 200, 200, 200, 429, 200]);
});
