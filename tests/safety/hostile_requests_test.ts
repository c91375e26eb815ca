// Hostile requests: which responses they may get, and what of them may ever reach the source.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import process from "node:process";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

const FILES = { "posts/a.md": "# A\n", "posts/ü b/c.md": "# C\n", "%2e%2e/d.md": "# D\n" };
const ENDPOINTS = ["/api/list-collection-items", "/api/get-item-content"];
const NAMES = [
  ..."owner repo collection path branch page limit format sort recursive".split(" "),
  ..."includeContent includeFrontMatter filter[name] filter[frontMatter.a] __proto__ x".split(" "),
];

/** Pieces from which values are made that parsers and paths stumble over. */
const PIECES = [
  ..."octo site posts main heads tags HEAD a.md .. . / // \\ %2e %2f %5c %00 %0d%0a %25".split(" "),
  ..."%252e%252e %c0%ae %ff %ed%a0%80 %u002e + & = ; ? # @ : * ~ ^ [ ] { } ' \" ` < >".split(" "),
  ..."| ! $ ( ) , - 0 1 -1 1e9 0x1 999999999 1000000000 NaN true null undefined".split(" "),
  ...["__proto__", "constructor", "\u0000", "\r\n", "\u202e", "\ufeff", "ü", "💥", "\ud800"],
  ...["refs/pull/1/head", "../../user", "octo/site", "http://127.0.0.1/", "a".repeat(300)],
  ...["/".repeat(50), "%".repeat(20)],
];

const value = fc.array(fc.constantFrom(...PIECES), { maxLength: 6 }).map((pieces) =>
  pieces.join("")
);
const field = fc.tuple(
  fc.constantFrom(...NAMES),
  value,
  // As it is, as a browser would escape it, or escaped twice.
  fc.constantFrom(...[(text: string) => text, escaped, (text: string) => escaped(escaped(text))]),
).map(([name, value, escape]) => `${name}=${escape(value)}`);
/** Mostly good parameters, some of them replaced, some added. */
const query = fc.tuple(fc.array(field, { maxLength: 4 }), fc.boolean()).map(([fields, replace]) => {
  const good = ["owner=octo", "repo=site", "collection=posts", "path=posts/a.md"];
  const names = fields.map((field) => field.split("=")[0]);
  const used = replace ? good.filter((field) => !names.includes(field.split("=")[0])) : good;
  return [...used, ...fields].join("&");
});

function escaped(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** What may be requested of the source: every part that came from a client is one escaped segment. */
const REQUESTED =
  /^\/repos\/[A-Za-z0-9][A-Za-z0-9_-]{0,38}\/[A-Za-z0-9._-]{1,100}(?:\/commits\/([^/?#]+)|\/git\/(?:trees|blobs)\/[0-9a-f]{40}(?:\?recursive=1)?)?$/;
const RAW = /^\/octo\/site\/[0-9a-f]{40}\/([^?#]+)$/i;

function requireEscaped(path: string): void {
  const found = REQUESTED.exec(path) ?? RAW.exec(path);
  assert(found !== null, path);
  for (const segment of found[1]?.split("/") ?? []) {
    const text = decodeURIComponent(segment);
    assertEquals(encodeURIComponent(text), segment);
    assert(text !== "." && text !== "..");
    assert(!/\p{Cc}/u.test(text));
  }
}

Deno.test("no query makes an unexpected error, or reaches the source unescaped", async () => {
  await using site = await startSite(FILES, { env: { MISSES_PER_MINUTE: "0" } });
  const { service, gh } = site;
  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...ENDPOINTS), query, async (endpoint, query) => {
      const response = await service.send(`${endpoint}?${query}`);
      await response.body?.cancel();
      const { status } = response;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      assert([200, 400, 404, 422].includes(status), `${status} ${query}`);
      assertEquals(response.headers.get("access-control-allow-origin"), "*");
    }),
    { numRuns: 1_500 },
  );
  for (const { path } of gh.requests) requireEscaped(path);
  assertEquals(gh.unexpected, []);
  // Some of all kinds, else the property says nothing.
  for (const status of [200, 400, 404]) assert((statuses.get(status) ?? 0) > 20, `${status}`);
  assert(gh.requests.length > 50);
});

Deno.test("a request of any size is answered in little time", async () => {
  await using site = await startSite(FILES);
  const { service } = site;
  const good = "owner=octo&repo=site&collection=posts";
  const names = Array.from({ length: 10_000 }, (_, index) => `x${index}=${index}`);
  const queries: [query: string, expected: number][] = [
    [`${good}&${"x=1&".repeat(10_000)}`, 200],
    [`${good}&${names.join("&")}`, 200],
    [`${good}&${"page=1&".repeat(10_000)}`, 400],
    [`${good}&${"filter[name]=*a*b*c*&".repeat(10_000)}`, 400],
    [`${good}&branch=${"a".repeat(1 << 20)}`, 400],
    [`${good}&${"a".repeat(1 << 20)}=1`, 200],
    [`${good}&x=${"%41".repeat(350_000)}`, 200],
    [`${good}&page=${"%".repeat(1 << 20)}`, 400],
    [`${good}&${"&".repeat(1 << 20)}`, 200],
    [`owner=octo&repo=site&collection=${"/".repeat(1 << 20)}`, 400],
    [`${good}&sort=frontMatter.${"a.".repeat(100_000)}`, 400],
    [`${good}&filter[path]=${"**/".repeat(300)}x`, 200],
  ];
  for (const [query, expected] of queries) {
    const what = query.slice(0, 70);
    const before = process.cpuUsage();
    const response = await service.send(`${ENDPOINTS[0]}?${query}`);
    const { user } = process.cpuUsage(before);
    const text = await response.text();
    assertEquals([what, response.status], [what, expected]);
    // Of the processor, however busy the machine is. The longest takes some 0.2 s; to go through a megabyte once for
    // each of its characters would take hours.
    assert(user < 2_000_000, `${what}: ${user} µs`);
    if (expected !== 200) assert(text.length < 20_000, `${what}: ${text.length} characters`);
  }
});

Deno.test("no header makes an unexpected error, or gets into an answer", async () => {
  const env = { TRUST_PROXY: "true", MISSES_PER_MINUTE: "0" };
  await using site = await startSite(FILES, { env });
  const names = fc.constantFrom(
    ..."accept accept-encoding if-none-match if-modified-since if-match range".split(" "),
    ..."x-forwarded-for x-forwarded-host x-forwarded-proto forwarded origin cookie".split(" "),
  );
  const text = fc.array(
    fc.constantFrom(
      ...'gzip;q=1|*|br|identity;q=0|"|W/"|,|;|=|q=|q=NaN|0.5|bytes=0-|1.2.3.4|[::1]|::1|:99999|https|evilcanary|%0d%0a|\t| |<>|/|@|\\|ü'
        .split("|"),
    ),
    { maxLength: 8 },
  ).map((parts) => parts.join("").trim());
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(names, text), { maxLength: 5 }), async (headers) => {
      const init = { headers: headers.filter(([, value]) => /^[\t\x20-\xff]*$/.test(value)) };
      const response = await site.service.send(listPath(), init);
      const body = await response.text();
      assert([200, 304].includes(response.status), `${response.status}`);
      const shown = [...response.headers].join("\n") + body;
      // A host that a trusted proxy names is the one thing that is taken over.
      const rest = shown.replaceAll(/http:\/\/[\w.:-]*evilcanary[\w.:-]*\//g, "");
      assert(!rest.includes("evilcanary"));
    }),
    { numRuns: 500 },
  );
});
