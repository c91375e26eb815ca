// A source that denies the branch and fails at the next request: the denial applies all the same, here and in other
// processes, however long the failure lasts.

import { assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import type { LoggedRequest } from "../github/github_log.ts";
import { serveRepository } from "../github/served_repository.ts";
import { TestClock } from "../test_clock.ts";
import { openCached, openStore, uncharged } from "./open_github.ts";

const main = { owner: "octo", repo: "site", branch: "main" };

type Answer = (request: LoggedRequest) => number | null;

const isHeads = ({ path }: LoggedRequest) => path.includes("/commits/heads%2F");

/** GitHub's answers from then on, by status; null is its real answer. */
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
  const store = await openStore(clock);
  const openSource = () => openCached(gh, { clock, kv: store.tier(), tokens: token ? ["t1"] : [] });
  const start = () => {
    const cached = openSource();
    return () => cached.resolve(main, uncharged);
  };
  return {
    ...served,
    clock,
    start,
    cached: openSource(),
    async [Symbol.asyncDispose]() {
      store[Symbol.dispose]();
      await served[Symbol.asyncDispose]();
    },
  };
}

async function codeOf(resolving: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => resolving, CollectionsError)).code;
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

Deno.test("resolve() repeats the check after such a failure, and finds what is there then", async () => {
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

Deno.test("resolve() gives nothing that was denied before a request was aborted", async () => {
  await using over = await open(false);
  const { clock, gh, cached } = over;
  await cached.resolve(main, uncharged);
  const held = Promise.withResolvers<Response>();
  const isAsked = Promise.withResolvers<void>();
  gh.intercept = (_, { kind }) => {
    if (kind === "commit") return new Response("{}", { status: 404 });
    isAsked.resolve();
    return held.promise;
  };
  clock.advance(60_000);
  const leaver = new AbortController();
  const left = cached.resolve(main, { ...uncharged, signal: leaver.signal });
  await isAsked.promise;
  leaver.abort(new Error("left"));
  await assertRejects(() => left, Error, "left");
  held.resolve(new Response("{}", { status: 500 }));
  await gh.down();
  clock.advance(3_600_000);
  await assertRejects(() => cached.resolve(main, uncharged), CollectionsError);
});

Deno.test("resolve() gives the other branches of a repository that is seen, whatever one of them lost", async () => {
  await using over = await open(true);
  const { clock, gh, cached, repository } = over;
  await repository.branch("other");
  const resolve = (branch: string) =>
    cached.resolve({ owner: "octo", repo: "site", branch }, uncharged);
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
    cached.resolve({ owner: "octo", repo: "site", branch }, uncharged);
  await Promise.all([resolve("main"), resolve("other")]);
  gh.intercept = (_, { kind }) => new Response("{}", { status: kind === "commit" ? 404 : 500 });
  clock.advance(60_000);
  assertEquals(await codeOf(resolve("main")), "source-failed");
  await gh.down();
  clock.advance(60_000);
  assertEquals(await codeOf(resolve("other")), "source-failed");
});

Deno.test("resolve() takes no denial from a form under which the ref was not known", async () => {
  await using over = await open(false);
  const { clock, gh, cached, repository } = over;
  await repository.git("tag", "v1");
  const resolve = () => cached.resolve({ ...main, branch: "v1" }, uncharged);
  const { commit } = await resolve();
  gh.intercept = (_, { path }) =>
    path.includes("tags%2F") ? new Response("{}", { status: 500 }) : null;
  clock.advance(60_000);
  const { commit: shown, freshness } = await resolve();
  assertEquals([shown, freshness], [commit, "stale"]);
});
