// Each request has an id that its response and its log line share. leaks_test.ts tests what the log must not contain.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { itemPath, listPath } from "../service.ts";
import { startSite } from "../site.ts";

const path = itemPath({ path: "posts/a.md" });

Deno.test("every request has an id of its own, and one log line with it", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service } = site;
  const etag = (await service.get(path)).headers.get("etag")!;
  const first = service.logLines("request").length;
  const responses = [
    await service.get(path),
    await service.get(path, { method: "HEAD" }),
    await service.get(path, { headers: { "if-none-match": etag } }),
    await service.get(path, { method: "OPTIONS" }),
    await service.get(path, { method: "POST" }),
    await service.get(listPath({ page: 0 })),
    await service.get("/none"),
    await service.get("/none", { method: "OPTIONS" }),
    await service.get("/api/%zz"),
  ];

  const lines = service.logLines("request").slice(first);
  assertEquals(
    lines.map(({ id, status }) => [id, status]),
    responses.map(({ headers, status }) => [headers.get("x-request-id"), status]),
  );
  assertEquals(lines.map(({ status }) => status), [200, 200, 304, 204, 405, 400, 404, 204, 404]);
  assertEquals(new Set(lines.map(({ id }) => id)).size, responses.length);
});

Deno.test("a log line says when, what, how long and how the cache answered", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service } = site;
  for (const _ of ["miss", "hit"]) await service.get(path);
  await service.get("/none");

  const lines = service.logLines("request");
  const time = new Date(service.clock.now()).toISOString();
  const common = { time, level: "info", event: "request", method: "GET" };
  const data = { ...common, path: "/api/get-item-content", status: 200, repository: "octo/site" };
  const logged = lines.map(({ id: _, ms, ...line }) => {
    assert(typeof ms === "number" && ms >= 0);
    return line;
  });
  assertEquals(logged, [
    { ...data, cache: "collections; fwd=miss; stored" },
    { ...data, cache: "collections; hit; ttl=60" },
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

Deno.test("failures are logged by the request's id, and faults without their message", async () => {
  await using site = await startSite({ "posts/a.md": "" }, {
    change: (services) => ({
      ...services,
      sourceOf: (owner) => {
        if (owner === "fault") throw new TypeError("canaryFault");
        return services.sourceOf(owner);
      },
    }),
  });
  const { service, gh } = site;
  gh.fault = { kind: "status", status: 500 };

  const failed = await service.get(listPath());
  const faulty = await service.get(listPath({ owner: "fault" }));

  const lines = [...service.logLines("request failed"), ...service.logLines("internal error")];
  assertEquals(lines.map(({ level, id, code, error }) => [level, id, code ?? error]), [
    ["warn", failed.headers.get("x-request-id"), "source-failed"],
    ["error", faulty.headers.get("x-request-id"), "TypeError"],
  ]);
  const [, fault] = lines;
  assertMatch(String(fault?.at), /^[a-z_]+\.ts:\d+$/);
  assert(!service.logText.includes("canaryFault"));
});

Deno.test("LOG_LEVEL leaves out what is less than it", async () => {
  const events = { info: ["request failed", "request"], warn: ["request failed"], error: [] };
  for (const [level, expected] of Object.entries({ ...events, silent: [] })) {
    await using site = await startSite({ a: "" }, { env: { LOG_LEVEL: level } });
    site.gh.fault = { kind: "status", status: 500 };
    await site.service.get(listPath());
    assertEquals(site.service.logLines().map(({ event }) => event), expected);
  }
});
