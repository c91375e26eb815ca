// Each request has an id that its response and its log line share. leaks_test.ts tests what the log must not contain.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { itemPath, listPath } from "../service.ts";
import { startSite } from "../site.ts";

const path = itemPath({ path: "posts/a.md" });

Deno.test("every request has an id of its own, and one log line with it", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service } = site;
  const requests: [path: string, method: string][] = [
    [path, "GET"],
    [path, "HEAD"],
    [path, "OPTIONS"],
    [path, "POST"],
    [listPath({ page: 0 }), "GET"],
    ["/none", "GET"],
    ["/api/%zz", "GET"],
  ];
  const responses: Response[] = [];
  for (const [path, method] of requests) {
    responses.push(await service.get(path, { method }));
  }

  const lines = service.logLines("request");
  const ids = responses.map(({ headers }) => headers.get("x-request-id"));
  assertEquals(lines.map(({ id }) => id), ids);
  assertEquals(new Set(ids).size, requests.length);
  assertEquals(lines.map(({ status }) => status), [
    200,
    200,
    204,
    405,
    400,
    404,
    404,
  ]);
});

Deno.test("a log line says when, what, how long and how the cache answered", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service } = site;
  for (const headers of [{}, {}, { "if-none-match": "*" }]) {
    await service.get(path, { headers });
  }
  await service.get("/none");

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
  assertEquals(logged, [
    { ...data, cache: "collections; fwd=miss; stored" },
    { ...data, cache: "collections; hit; ttl=60" },
    { ...data, cache: "collections; hit; ttl=60", status: 304 },
    { ...common, path: "/none", status: 404 },
  ]);
});

Deno.test("a path cannot forge a line of the log, nor fill it", async () => {
  await using site = await startSite({ "posts/a.md": "" });

  await site.service.get('/%0a{"event":"forged"}"\\');
  await site.service.get(`/${"a".repeat(5_000)}`);

  const lines = site.service.logLines();
  assertEquals(lines.map(({ event }) => event), ["request", "request"]);
  assert(site.service.logText.length < 1_000);
});

Deno.test("failures and faults are logged by the request's id, faults with their class and place", async () => {
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
