// Misses cost, hits do not.

import { assertEquals } from "@std/assert";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

const FILES = { "posts/a.md": "", "pages/b.md": "" };
const TWO = { env: { MISSES_PER_MINUTE: "2" } };

Deno.test("past its misses a client gets 429, its hits go on, and others are not concerned", async () => {
  await using site = await startSite(FILES, TWO);
  const { service } = site;
  const status = async (parameters = {}, remote = "192.0.2.1") =>
    (await service.get(listPath(parameters), { remote })).status;

  assertEquals(await status(), 200);
  assertEquals(await status({ collection: "pages" }), 200);
  assertEquals(await status({ repo: "other" }), 429);
  assertEquals(await status(), 200);
  assertEquals(await status({ collection: "pages" }), 200);
  assertEquals(await status({ repo: "other" }, "192.0.2.2"), 404);
});

Deno.test("a miss is given back over the minute, as Retry-After and RateLimit say", async () => {
  await using site = await startSite(FILES, TWO);
  const { service } = site;
  for (const repo of ["r1", "r2"]) await service.get(listPath({ repo }));

  const refused = await service.get(listPath({ repo: "r3" }));
  assertEquals([refused.status, refused.headers.get("retry-after")], [429, "30"]);
  assertEquals(refused.headers.get("ratelimit-policy"), '"misses";q=2;w=60');
  assertEquals(refused.headers.get("ratelimit"), '"misses";r=0;t=60');

  service.clock.advance(29_999);
  assertEquals((await service.get(listPath({ repo: "r3" }))).status, 429);
  service.clock.advance(1);
  assertEquals((await service.get(listPath({ repo: "r3" }))).status, 404);
  assertEquals((await service.get(listPath({ repo: "r4" }))).status, 429);
});

Deno.test("a re-check of a known branch is no miss, nor is what was found missing before", async () => {
  await using site = await startSite(FILES, { env: { MISSES_PER_MINUTE: "2" } });
  const { service, gh } = site;
  await service.list();
  await service.get(listPath({ repo: "none" }));

  gh.resetCounts();
  assertEquals((await service.get(listPath({ repo: "none" }))).status, 404);
  assertEquals(gh.counts(), {});
  for (let minute = 0; minute < 3; minute++) {
    service.clock.advance(60_000);
    const statuses = [];
    for (const repo of ["n1", "n2", "n3"]) {
      statuses.push((await service.get(listPath({ repo }))).status);
    }
    assertEquals(statuses, [404, 404, 429]);
    assertEquals((await service.get(listPath())).status, 200);
  }
});

Deno.test("bad requests and unknown paths are no misses", async () => {
  await using site = await startSite(FILES, { env: { MISSES_PER_MINUTE: "1" } });
  const { service } = site;
  for (let n = 0; n < 5; n++) {
    assertEquals((await service.get(listPath({ page: 0, repo: `r${n}` }))).status, 400);
    assertEquals((await service.get(`/none/${n}`)).status, 404);
  }

  assertEquals((await service.get(listPath())).status, 200);
});

Deno.test("MISSES_PER_MINUTE=0 counts nothing", async () => {
  await using site = await startSite(FILES, { env: { MISSES_PER_MINUTE: "0" } });

  for (let n = 0; n < 150; n++) {
    assertEquals((await site.service.get(listPath({ repo: `r${n}` }))).status, 404);
  }
});
