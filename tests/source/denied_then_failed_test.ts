// A source that says no to the branch question and fails at the next one: what it denied is over all the same, here and
// in other processes, however long the failure lasts.

import { assertEquals, assertRejects } from "@std/assert";
import { MemoryCache } from "../../lib/cache/memory.ts";
import { CollectionsError } from "../../lib/errors.ts";
import type { LoggedRequest } from "../github/github_log.ts";
import { serveRepository } from "../github/served_repository.ts";
import { TestClock } from "../test_clock.ts";
import { openCached } from "./github_source.ts";
import { freeCaller } from "./repository_suite.ts";

type Answer = (request: LoggedRequest) => number | null;

const isHeads = ({ path }: LoggedRequest) => path.includes("/commits/heads%2F");

/** What GitHub answers from then on, by status; null is what it would say. */
const denials: [name: string, token: boolean, answer: Answer, code: string][] = [
  [
    "the branch is missing and the repository cannot be asked",
    false,
    ({ kind }) => kind === "commit" ? 404 : 500,
    "source-failed",
  ],
  [
    "the branch is missing and tags cannot be asked",
    true,
    (request) => request.kind === "repo" ? null : isHeads(request) ? 404 : 500,
    "source-failed",
  ],
  [
    "the branch is missing and visibility cannot be asked",
    true,
    ({ kind }) => kind === "commit" ? 404 : 500,
    "source-failed",
  ],
  [
    "the repository is blocked and visibility cannot be asked",
    true,
    ({ kind }) => kind === "commit" ? 451 : 500,
    "source-failed",
  ],
  [
    "the repository is deleted, which spends the last of the quota",
    false,
    ({ kind }) => kind === "commit" ? 404 : 429,
    "source-rate-limited",
  ],
  [
    "the branch is deleted, which spends the last of the quota",
    true,
    (request) => request.kind === "repo" ? null : isHeads(request) ? 422 : 429,
    "source-rate-limited",
  ],
];

async function open(token: boolean) {
  const clock = new TestClock();
  const served = await serveRepository({ "posts/a.md": "A\n" }, { now: clock.now });
  const { gh } = served;
  gh.addToken("t1");
  const refs = new MemoryCache({ maxBytes: 1 << 20, now: clock.now });
  const openRepository = () => openCached(gh, { clock, refs, tokens: token ? ["t1"] : [] });
  const start = () => {
    const cached = openRepository();
    const question = { owner: "octo", repo: "site", branch: "main" };
    return () => cached.resolve(question, freeCaller);
  };
  return Object.assign(served, { clock, start, cached: openRepository() });
}

async function codeOf(asked: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => asked, CollectionsError)).code;
}

for (const [name, token, answer, code] of denials) {
  Deno.test(`resolve() gives nothing that was known where ${name}`, async () => {
    await using over = await open(token);
    const { clock, gh, start } = over;
    const [here, elsewhere] = [start(), start()];
    await Promise.all([here(), elsewhere()]);
    gh.intercept = (_, request) => {
      const status = answer(request);
      return status === null ? null : new Response("{}", { status });
    };
    clock.advance(60_000);
    assertEquals(await codeOf(here()), code);
    await gh.down();
    for (const waitMs of [1, 60_000, 3_600_000]) {
      clock.advance(waitMs);
      for (const process of [here, elsewhere, start()]) {
        await assertRejects(process, CollectionsError);
      }
    }
  });
}

Deno.test("resolve() asks again after such a failure, and finds what is there then", async () => {
  await using over = await open(false);
  const { clock, gh, start } = over;
  const resolve = start();
  const { commit } = await resolve();
  gh.intercept = (_, { kind }) => new Response("{}", { status: kind === "commit" ? 404 : 500 });
  clock.advance(60_000);
  assertEquals(await codeOf(resolve()), "source-failed");
  gh.intercept = null;
  clock.advance(5_000);
  assertEquals((await resolve()).commit, commit);
});

Deno.test("resolve() says that a branch is not there also where the default one cannot be had", async () => {
  await using over = await open(true);
  const { clock, gh, start } = over;
  const resolve = start();
  await resolve();
  gh.intercept = (request, { kind }) =>
    kind === "commit"
      ? new Response("{}", { status: 404 })
      : request.headers.has("if-none-match")
      ? null
      : new Response("{}", { status: 500 });
  clock.advance(60_000);
  assertEquals(await codeOf(resolve()), "branch-not-found");
});

Deno.test("resolve() gives nothing that was denied to a caller who left before all was said", async () => {
  await using over = await open(false);
  const { clock, gh, cached } = over;
  const question = { owner: "octo", repo: "site", branch: "main" };
  await cached.resolve(question, freeCaller);
  const held = Promise.withResolvers<Response>();
  const asked = Promise.withResolvers<void>();
  gh.intercept = (_, { kind }) => {
    if (kind === "commit") return new Response("{}", { status: 404 });
    asked.resolve();
    return held.promise;
  };
  clock.advance(60_000);
  const leaver = new AbortController();
  const left = cached.resolve(question, { miss() {}, signal: leaver.signal });
  await asked.promise;
  leaver.abort(new Error("left"));
  await assertRejects(() => left, Error, "left");
  held.resolve(new Response("{}", { status: 500 }));
  await gh.down();
  clock.advance(3_600_000);
  await assertRejects(() => cached.resolve(question, freeCaller), CollectionsError);
});

Deno.test("resolve() gives the other branches of a repository that is seen, whatever one of them lost", async () => {
  await using over = await open(true);
  const { clock, gh, cached, repository } = over;
  await repository.branch("other");
  const resolve = (branch: string) =>
    cached.resolve({ owner: "octo", repo: "site", branch }, freeCaller);
  await Promise.all([resolve("main"), resolve("other")]);
  gh.intercept = (_, request) =>
    request.kind === "repo" || request.path.includes("other")
      ? null
      : new Response("{}", { status: isHeads(request) ? 404 : 500 });
  clock.advance(60_000);
  assertEquals(await codeOf(resolve("main")), "source-failed");
  await gh.down();
  clock.advance(60_000);
  assertEquals((await resolve("other")).freshness, "stale");
  assertEquals(await codeOf(resolve("main")), "source-failed");
});

Deno.test("resolve() says of other branches that GitHub fails, where only that can be known", async () => {
  await using over = await open(false);
  const { clock, gh, cached, repository } = over;
  await repository.branch("other");
  const resolve = (branch: string) =>
    cached.resolve({ owner: "octo", repo: "site", branch }, freeCaller);
  await Promise.all([resolve("main"), resolve("other")]);
  gh.intercept = (_, { kind }) => new Response("{}", { status: kind === "commit" ? 404 : 500 });
  clock.advance(60_000);
  assertEquals(await codeOf(resolve("main")), "source-failed");
  await gh.down();
  clock.advance(60_000);
  assertEquals(await codeOf(resolve("other")), "source-failed");
});

Deno.test("resolve() takes no for an answer only from the question that had found the ref", async () => {
  await using over = await open(false);
  const { clock, gh, cached, repository } = over;
  await repository.git("tag", "v1");
  gh.rename("octo/site", "other/place");
  const resolve = () => cached.resolve({ owner: "octo", repo: "site", branch: "v1" }, freeCaller);
  const { commit } = await resolve();
  // After an hour the old name is asked again, as a branch first.
  gh.intercept = (_, { path }) =>
    path.includes("tags%2F") ? new Response("{}", { status: 500 }) : null;
  clock.advance(3_600_001);
  const { commit: shown, freshness } = await resolve();
  assertEquals([shown, freshness], [commit, "stale"]);
});
