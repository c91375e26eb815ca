// Sorting by front matter while nothing is kept: in time or not ready, never wrong, and never for nobody.

import { assert, assertEquals, assertRejects } from "@std/assert";
import type { ListBody, ProblemBody } from "../../lib/api/contract.ts";
import { watchBlobs } from "../github/asked_blobs.ts";
import { generateFiles } from "../github/generated_files.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";
import { plainFile, plainList } from "./plain_list.ts";
import { writePosts } from "./three_thousand_posts.ts";

const TOKEN = { GITHUB_TOKEN: "token" };
const NEWEST = { sort: "-frontMatter.date", limit: 20 };

function newest(files: Iterable<readonly [string, string]>): string[] {
  const plain = [...files].map(([path, text]) => plainFile(path, text));
  return plainList(plain, NEWEST).map(({ path }) => path);
}

Deno.test("a collection that is not ready in time is 503, and right afterwards", async () => {
  const env = { ...TOKEN, SOURCE_TIMEOUT_MS: "500" };
  await using site = await startSite(writePosts(2_100), { env });
  const { service, gh } = site;
  gh.addToken("token");
  const asked = watchBlobs(gh);
  const gate = Promise.withResolvers<void>();
  const watch = gh.intercept!;
  gh.intercept = async (request, logged) => {
    if (logged.kind === "graphql") await gate.promise;
    return await watch(request, logged);
  };
  // A service that waits on gets its files in the end, and fails here.
  const end = setTimeout(gate.resolve, 20_000);

  const response = await service.get(listPath(NEWEST));
  clearTimeout(end);

  assertEquals(response.status, 503);
  assertEquals(response.headers.get("retry-after"), "5");
  assertEquals((await response.json() as ProblemBody).code, "collection-not-ready");
  assertEquals(asked, []);

  // The work goes on though nobody waits for it: who asks again finds it there, or nearly.
  gate.resolve();
  while ((await service.get(listPath(NEWEST))).status === 503);
  assertEquals(asked.length, 2_100, "nothing is asked for twice");
  gh.resetCounts();
  const { items } = await service.list(NEWEST);
  assertEquals(items.map(({ path }) => path), newest(writePosts(2_100)).slice(0, 20));
  assertEquals(gh.counts(), {});
});

Deno.test("a caller who leaves ends the work, unless another waits for it", async () => {
  // From the raw host, since Deno's server does not hear of a client that leaves while its POST is answered.
  await using site = await startSite(writePosts(200));
  const { service, gh } = site;
  gh.fault = { kind: "hang", only: ["raw"] };

  const [first, second] = [new AbortController(), new AbortController()];
  const url = `http://127.0.0.1:${service.listen()}${listPath(NEWEST)}`;
  const both = [first, second].map(({ signal }) => fetch(url, { signal }));
  await gh.log.until(() => gh.pauses.waiting === 8);
  first.abort();
  await assertRejects(() => both[0]!, DOMException);
  // The log's line says that the service has heard of it.
  while (service.logLines("request").length === 0) await new Promise((turn) => setTimeout(turn, 0));
  assertEquals(gh.pauses.waiting, 8, "the second caller still waits");
  second.abort();
  await assertRejects(() => both[1]!, DOMException);
  await gh.log.until(() => gh.log.inFlight === 0);
  const hung = gh.requests.filter(({ kind }) => kind === "raw");
  assertEquals(hung.map(({ aborted }) => aborted), Array(8).fill(true));

  gh.fault = null;
  const { items } = await service.list(NEWEST);
  assertEquals(items.map(({ path }) => path), newest(writePosts(200)).slice(0, 20));
});

Deno.test("a file that cannot be read fails the list, and never misplaces the file", async () => {
  await using site = await startSite(writePosts(120), { env: TOKEN });
  const { service, gh, repository } = site;
  gh.addToken("token");
  const asked = watchBlobs(gh);
  const id = await repository.git("rev-parse", "main:posts/2018/post-2.md");
  gh.fault = { kind: "wrong-bytes", only: ["graphql"] };
  gh.faultWhen(({ kind, path }) =>
    kind === "blob" && path.endsWith(id) ? { kind: "status", status: 502 } : null
  );

  for (const sort of ["-frontMatter.date", "frontMatter.title"]) {
    const response = await service.get(listPath({ sort }));
    assertEquals(response.status, 502);
    assertEquals((await response.json() as ProblemBody).code, "source-failed");
  }
  // A page in which it is says so of the file alone.
  const { items } = await service.list({ includeFrontMatter: true, limit: 1000 });
  const failed = items.filter(({ error }) => error !== undefined);
  assertEquals(failed.map(({ sha, error }) => [sha, error!.code]), [[id, "source-failed"]]);

  gh.faultWhen(null);
  gh.fault = null;
  asked.length = 0;
  service.clock.advance(3_600_000);
  const page = await service.list(NEWEST);
  assertEquals(page.items.map(({ path }) => path), newest(writePosts(120)).slice(0, 20));
  assertEquals(asked, [id], "what could be read was kept");
});

Deno.test("sorting by front matter reads at most 20,000 files, chosen by path", async () => {
  const files = function* () {
    yield* generateFiles({ folders: 2, filesPerFolder: 10_000, identical: true });
    for (let number = 0; number < 10; number++) yield [`posts/${number}.png`, "png"] as const;
  };
  await using site = await startSite(files(), { env: TOKEN });
  const { service, gh, repository } = site;
  gh.addToken("token");
  const asked = watchBlobs(gh);
  assertEquals((await service.list(NEWEST)).pagination.totalItems, 20_010);
  assertEquals(asked.length, 1, "pictures are not read");

  await repository.commit({ "posts/one-more.md": "# One more\n" });
  service.clock.advance(60_000);
  for (const query of [NEWEST, { "filter[frontMatter.draft]": "!true" }]) {
    const problem = await service.problem(listPath(query));
    assertEquals([problem.status, problem.code], [422, "collection-too-large"]);
    assert(problem.detail.includes("20000 files"), problem.detail);
  }
  assertEquals(asked.length, 1);
  assertEquals((await service.list({ sort: "-size" })).pagination.totalItems, 20_011);
  const part = await service.list({ ...NEWEST, "filter[path]": "d001/**" });
  assertEquals(part.pagination.totalItems, 10_000);
});

Deno.test("a file over MAX_ITEM_MB counts as one without front matter", async () => {
  const env = { ...TOKEN, MAX_ITEM_MB: "1" };
  const head = (date: string) => `---\ndate: ${date}\n---\n`;
  await using site = await startSite({
    "posts/a.md": head("2024-01-01"),
    "posts/big.md": head("2026-01-01") + "x".repeat(1 << 20),
    "posts/c.md": head("2025-01-01"),
  }, { env });
  const { service, gh } = site;
  gh.addToken("token");

  const list = async (query: Record<string, string>) => {
    const { items }: ListBody = await service.list({ ...query, includeFrontMatter: true });
    return items.map(({ name, frontMatter, error }) => [name, frontMatter?.date, error]);
  };
  const [a, big, c] = [
    ["a.md", "2024-01-01", undefined],
    ["big.md", undefined, undefined],
    ["c.md", "2025-01-01", undefined],
  ];
  assertEquals(await list({ sort: "-frontMatter.date" }), [c, a, big]);
  assertEquals(await list({ sort: "frontMatter.date" }), [a, c, big]);
  assertEquals(await list({ "filter[frontMatter.date]": "!2024-01-01" }), [big, c]);
  assertEquals(await list({ "filter[frontMatter.date]": "2026-01-01" }), []);
});
