// Each request has an id that its response and its log line share.
// leaks_test.ts tests what the log must not contain.

import { assert, assertEquals, assertMatch } from "@std/assert";
import project from "../../deno.json" with { type: "json" };
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

const ITEM = itemPath({ path: "posts/a.md" });

Deno.test("each request has a log line with its own id", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service } = site;
  const stored = "collections; fwd=miss; stored";
  const hit = "collections; hit; ttl=60";
  const item = { path: "/api/get-item-content", repository: "octo/site" };
  const known = { "if-none-match": "*" };
  const requests: {
    path?: string;
    method?: string;
    headers?: Record<string, string>;
    line: Record<string, unknown>;
  }[] = [
    { line: { ...item, status: 200, cache: stored } },
    { line: { ...item, status: 200, cache: hit } },
    { headers: known, line: { ...item, status: 304, cache: hit } },
    { method: "HEAD", line: { ...item, status: 200, cache: hit } },
    { method: "OPTIONS", line: { path: item.path, status: 204 } },
    { method: "POST", line: { path: item.path, status: 405 } },
    {
      path: listPath({ page: 0 }),
      line: { path: "/api/list-collection-items", status: 400 },
    },
    { path: "/none", line: { path: "/none", status: 404 } },
    { path: "/api/%zz", line: { path: "/api/%zz", status: 404 } },
  ];
  const ids = new Set<unknown>();
  for (const request of requests) {
    const { path = ITEM, method = "GET", headers = {}, line } = request;
    const response = await service.get(path, { method, headers });
    const { id, ms, ...logged } = service.logLines("request").at(-1)!;
    assert(typeof ms === "number" && ms >= 0);
    ids.add(id);
    assertEquals(id, response.headers.get("x-request-id"));
    assertEquals(logged, {
      time: new Date(service.clock.now()).toISOString(),
      level: "info",
      event: "request",
      method,
      bytes: (await response.bytes()).length,
      ...line,
    });
  }
  assertEquals(ids.size, requests.length);
});

Deno.test("LOG_CLIENTS names the client of a request", async () => {
  const remotes = ["192.0.2.1", "192.0.2.2", "192.0.2.1", "2001:db8::1"];
  const clientsOf = async (LOG_CLIENTS: string) => {
    const files = { "posts/a.md": "" };
    await using site = await startSite(files, { env: { LOG_CLIENTS } });
    const { service } = site;
    for (const remote of remotes) await service.get(ITEM, { remote });
    assert(LOG_CLIENTS === "address" || !service.logText.includes("192.0.2"));
    return service.logLines("request").map(({ client }) => client);
  };
  assertEquals(await clientsOf("none"), remotes.map(() => undefined));
  assertEquals(await clientsOf("address"), [
    ...remotes.slice(0, 3),
    "2001:db8:0:0::/64",
  ]);
  const [first, second, again, third] = await clientsOf("hash");
  assertMatch(`${first}`, /^[0-9a-f]{16}$/);
  assertEquals([first, new Set([first, second, third]).size], [again, 3]);
});

Deno.test("the log says what the service runs with, and no secret", async () => {
  const secret = "canary-secret";
  await using service = await startService({
    env: {
      GITHUB_TOKEN: `${secret}, ${secret}2`,
      GITHUB_WEBHOOK_SECRET: secret,
      ALLOWED_REPOS: "a/b, c/*",
      LOG_CLIENTS: "address",
    },
  });
  const at = { host: "0.0.0.0", port: 1, url: "http://localhost:1/" };
  service.services.logStart(at);
  const { time: _, packages, ...line } = service.logLines("listening")[0]!;
  assertEquals(line, {
    level: "info",
    event: "listening",
    ...at,
    version: project.version,
    tokens: 2,
    store: "default",
    allowed: "a/b, c/*",
  });
  assertMatch(`${packages}`, /^(published|stand-ins)$/);
  assert(!service.logText.includes("canary"));
});

Deno.test("a path cannot forge a line of the log, nor fill it", async () => {
  await using site = await startSite({ "posts/a.md": "" });

  await site.service.get('/%0a{"event":"forged"}"\\');
  await site.service.get(`/${"a".repeat(5_000)}`);

  const lines = site.service.logLines();
  assertEquals(lines.map(({ event }) => event), ["request", "request"]);
  assert(site.service.logText.length < 1_000);
});

Deno.test("failures and faults are logged with the request's id", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service, gh } = site;
  gh.fault = { kind: "status", status: 500 };
  const failed = await service.problem(ITEM);
  service.services.sourceOf("octo").resolve = () =>
    Promise.reject(new TypeError("canary"));
  const faulty = await service.problem(ITEM);

  const [failure] = service.logLines("request failed");
  const { level, id, code } = failure!;
  assertEquals([level, id, code], ["warn", failed.requestId, "source-failed"]);
  const [fault] = service.logLines("internal error");
  const seen = [fault?.level, fault?.id, fault?.error];
  assertEquals(seen, ["error", faulty.requestId, "TypeError"]);
  assertMatch(String(fault?.at), /^[a-z_]+\.ts:\d+$/);
});
