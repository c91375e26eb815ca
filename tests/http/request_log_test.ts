// Each request has an id that its response and its log line share.
// leaks_test.ts tests what the log must not contain.

import { assert, assertEquals, assertMatch } from "@std/assert";
import project from "../../deno.json" with { type: "json" };
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

const path = itemPath({ path: "posts/a.md" });

Deno.test("every request has its own id and one log line", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service } = site;
  const requests: [path: string, method: string, status: number][] = [
    [path, "GET", 200],
    [path, "HEAD", 200],
    [path, "OPTIONS", 204],
    [path, "POST", 405],
    [listPath({ page: 0 }), "GET", 400],
    ["/none", "GET", 404],
    ["/api/%zz", "GET", 404],
  ];
  const expected = [];
  for (const [path, method, status] of requests) {
    const { headers } = await service.get(path, { method });
    expected.push([headers.get("x-request-id"), status]);
  }

  const lines = service.logLines("request");
  assertEquals(lines.map(({ id, status }) => [id, status]), expected);
  assertEquals(new Set(lines.map(({ id }) => id)).size, requests.length);
});

Deno.test("a log line says when, what, how long and which cache", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service } = site;
  let size = 0;
  for (const headers of [{}, {}, { "if-none-match": "*" }]) {
    const response = await service.get(path, { headers });
    size ||= (await response.bytes()).length;
  }
  await service.get(path, { method: "HEAD" });
  const sizeOfNone = (await (await service.get("/none")).bytes()).length;

  const lines = service.logLines("request");
  const time = new Date(service.clock.now()).toISOString();
  const common = { time, level: "info", event: "request", method: "GET" };
  const data = {
    ...common,
    path: "/api/get-item-content",
    status: 200,
    repository: "octo/site",
  };
  const logged = lines.map(({ id: _, ms, ...line }) => {
    assert(typeof ms === "number" && ms >= 0);
    return line;
  });
  const hit = "collections; hit; ttl=60";
  assertEquals(logged, [
    { ...data, bytes: size, cache: "collections; fwd=miss; stored" },
    { ...data, bytes: size, cache: hit },
    { ...data, bytes: 0, cache: hit, status: 304 },
    { ...data, bytes: 0, cache: hit, method: "HEAD" },
    { ...common, bytes: sizeOfNone, path: "/none", status: 404 },
  ]);
});

Deno.test("LOG_CLIENTS names the client of a request", async () => {
  const remotes = ["192.0.2.1", "192.0.2.2", "192.0.2.1", "2001:db8::1"];
  const clientsOf = async (LOG_CLIENTS: string) => {
    const files = { "posts/a.md": "" };
    await using site = await startSite(files, { env: { LOG_CLIENTS } });
    const { service } = site;
    for (const remote of remotes) await service.get(path, { remote });
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
  const failed = await service.get(path);
  service.services.sourceOf("octo").resolve = () =>
    Promise.reject(new TypeError("canary"));
  const faulty = await service.get(path);

  const lines = [
    ...service.logLines("request failed"),
    ...service.logLines("internal error"),
  ];
  assertEquals(
    lines.map(({ level, id, code, error }) => [level, id, code ?? error]),
    [
      ["warn", failed.headers.get("x-request-id"), "source-failed"],
      ["error", faulty.headers.get("x-request-id"), "TypeError"],
    ],
  );
  assertMatch(String(lines[1]?.at), /^[a-z_]+\.ts:\d+$/);
});
