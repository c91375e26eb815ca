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
  const start = () => {
    const cached = openCached(gh, { clock, refs, tokens: token ? ["t1"] : [] });
    const question = { owner: "octo", repo: "site", branch: "main" };
    return () => cached.resolve(question, freeCaller);
  };
  return Object.assign(served, { clock, start });
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
