// Hostile requests: which responses they may get, and what of them may ever
// reach the source.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import process from "node:process";
import {
  HOSTILE_FILES,
  hostileRequests,
  isEscaped,
} from "../../bench/hostile_requests.ts";
import { countDecoding } from "../count_decoding.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

const ENDPOINT = "/api/list-collection-items";
const FILES = { "posts/a.md": "# A\n" };

Deno.test("no query makes an unexpected error", async () => {
  await using site = await startSite(HOSTILE_FILES, {
    env: { MISSES_PER_MINUTE: "0" },
  });
  const { service, gh, repository } = site;
  gh.add("octo/odd", repository);
  const seed = Math.floor(Math.random() * 2 ** 31);
  const statuses = new Map<number, number>();
  for (const { method, target } of hostileRequests({ seed, count: 1_800 })) {
    if (method !== "GET" || !/^\/api\/[a-z-]+\?/.test(target)) continue;
    const response = await service.send(target);
    await response.body?.cancel();
    const { status } = response;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    assert(
      [200, 400, 404, 422].includes(status),
      `seed ${seed}: ${status} ${target}`,
    );
    assertEquals(response.headers.get("access-control-allow-origin"), "*");
  }
  for (const { path } of gh.requests) {
    assert(isEscaped(path), `seed ${seed}: ${path}`);
  }
  assertEquals(gh.unexpected, []);
  // Some of all kinds, else the test says nothing.
  for (const status of [200, 400, 404]) {
    assert((statuses.get(status) ?? 0) > 20, `${status}`);
  }
  assert(gh.requests.length > 50);
});

Deno.test("a request of any size is answered in little time", async () => {
  await using site = await startSite(FILES);
  const { service } = site;
  const good = "owner=octo&repo=site&collection=posts";
  const names = Array.from(
    { length: 10_000 },
    (_, index) => `x${index}=${index}`,
  );
  const queries: [query: string, expected: number][] = [
    [`${good}&${"x=1&".repeat(10_000)}`, 400],
    [`${good}&${names.join("&")}`, 400],
    [`${good}&${"%zz&".repeat(10_000)}`, 400],
    [`${good}&${"page=1&".repeat(10_000)}`, 400],
    [`${good}&${"filter[name]=*a*b*c*&".repeat(10_000)}`, 400],
    [`${good}&branch=${"a".repeat(1 << 20)}`, 400],
    [`${good}&${"a".repeat(1 << 20)}=1`, 200],
    [`${good}&x=${"%41".repeat(350_000)}`, 200],
    [`${good}&page=${"%".repeat(1 << 20)}`, 400],
    [`${good}&${"&".repeat(1 << 20)}`, 400],
    [`owner=octo&repo=site&collection=${"/".repeat(1 << 20)}`, 400],
    [`${good}&sort=frontMatter.${"a.".repeat(100_000)}`, 400],
    [`${good}&filter[path]=${"**/".repeat(300)}x`, 400],
  ];
  for (const [query, expected] of queries) {
    const what = query.slice(0, 70);
    const before = process.cpuUsage();
    const response = await service.send(`${ENDPOINT}?${query}`);
    const { user } = process.cpuUsage(before);
    const text = await response.text();
    assertEquals([what, response.status], [what, expected]);
    // Of the processor, however busy the machine is. The longest takes some 0.2
    // s; to go through a megabyte once for each of its characters would take
    // hours.
    assert(user < 2_000_000, `${what}: ${user} µs`);
    if (expected !== 200) {
      assert(text.length < 20_000, `${what}: ${text.length} characters`);
    }
  }
});

Deno.test("a path with malformed escapes costs at most one exception", async () => {
  await using site = await startSite(FILES);
  for (const path of ["/problems/", "/", "/api/", "/assets/1/", "/vendor/"]) {
    using decoding = countDecoding();
    const response = await site.service.send(path + "%zz%ff".repeat(10_000));
    assertEquals([path, response.status, decoding.failed <= 1], [
      path,
      404,
      true,
    ]);
    await response.body?.cancel();
  }
});

Deno.test("no header makes an unexpected error, or gets into an answer", async () => {
  const env = { TRUST_PROXY: "true", MISSES_PER_MINUTE: "0" };
  await using site = await startSite(FILES, { env });
  const names = fc.constantFrom(
    ..."accept accept-encoding if-none-match if-modified-since if-match range"
      .split(" "),
    ..."x-forwarded-for x-forwarded-host x-forwarded-proto forwarded origin cookie"
      .split(" "),
  );
  const text = fc.array(
    fc.constantFrom(
      ...'gzip;q=1|*|br|identity;q=0|"|W/"|,|;|=|q=|q=NaN|0.5|bytes=0-|1.2.3.4|[::1]|::1|:99999|https|evilcanary|%0d%0a|\t| |<>|/|@|\\|ü'
        .split("|"),
    ),
    { maxLength: 8 },
  ).map((parts) => parts.join("").trim());
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(names, text), { maxLength: 5 }),
      async (headers) => {
        const init = {
          headers: headers.filter(([, value]) =>
            /^[\t\x20-\xff]*$/.test(value)
          ),
        };
        const response = await site.service.send(listPath(), init);
        const body = await response.text();
        assert([200, 304].includes(response.status), `${response.status}`);
        const shown = [...response.headers].join("\n") + body;
        // A host that a trusted proxy names is the one thing that is taken
        // over.
        const rest = shown.replaceAll(
          /http:\/\/[\w.:-]*evilcanary[\w.:-]*\//g,
          "",
        );
        assert(!rest.includes("evilcanary"));
      },
    ),
    { numRuns: 500 },
  );
});
