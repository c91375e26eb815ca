import { assertEquals, assertRejects } from "@std/assert";
import {
  CollectionsError,
  problem,
  serviceBusy,
  sourceFailed,
} from "../../lib/errors.ts";
import { SourceFailure } from "../../lib/source/source_failure.ts";
import { SourceRetries } from "../../lib/source/source_retries.ts";
import type { RefName } from "../../lib/source/source.ts";
import { TestClock } from "../test_clock.ts";

const failed = sourceFailed("answered 500");
const unreached = new SourceFailure(sourceFailed("no connection"), {
  isUnreached: true,
});
const ref = (branch = "main", repo = "site", owner = "octo"): RefName => ({
  owner,
  repo,
  branch,
});
const other = ref("main", "other", "other");

function open() {
  const clock = new TestClock();
  const retries = new SourceRetries(clock);
  /** One check, which fails unless the error is null. */
  const check = async (
    name: RefName,
    error: CollectionsError | null,
    isKnown = true,
  ) => {
    const outcome = () =>
      error === null ? Promise.resolve() : Promise.reject(error);
    await retries.check(name, isKnown, outcome).catch(() => {});
  };
  let count = 0;
  return {
    clock,
    retries,
    check,
    failure: (name: RefName) => retries.refFailure(name),
    /** One check of a new repository of each owner. */
    async checkAll(error: CollectionsError | null, owners: string) {
      for (const owner of owners) {
        await check(ref("main", `${count++}`, owner), error);
      }
    },
  };
}

Deno.test("SourceRetries ends the wait of a ref with an answer", async () => {
  const { check, clock, failure } = open();
  const missing = problem("repository-not-found", {
    owner: "octo",
    repo: "site",
  });
  for (const answer of [null, missing]) {
    await check(ref(), failed);
    assertEquals(failure(ref()), failed);
    clock.advance(60_000);
    await check(ref(), answer);
    assertEquals(failure(ref()), null);
    clock.advance(60_000);
  }
});

Deno.test("SourceRetries stops no siblings of a ref that fails", async () => {
  const { check, clock, failure } = open();
  for (let times = 0; times < 20; times++) {
    await check(ref("broken"), failed);
    await check(ref(`never-found-${times}`), failed, false);
    assertEquals(failure(ref("main")), null);
    clock.advance(60_000);
  }
});

Deno.test("SourceRetries stops a repository of which several refs fail", async () => {
  const { retries, check, clock, failure } = open();
  await check(ref("a"), failed);
  await check(ref("b"), new SourceFailure(failed, { waitMs: 7_000 }));
  assertEquals(failure(other), null);
  const ofTree = retries.objectFailure("octo/site", "tree 2");
  assertEquals(ofTree?.code, "source-failed");
  clock.advance(6_999);
  assertEquals(failure(ref("main"))?.code, "source-failed");
  clock.advance(1);
  await check(ref("a"), failed);
  assertEquals(failure(ref("main")), null, "it failed before");
  await check(ref("main"), null);
  await check(ref("c"), failed);
  assertEquals(failure(ref("main")), null, "the first since an answer");
});

Deno.test("SourceRetries stops a source that is not reached", async () => {
  const { checkAll, failure, retries } = open();
  await checkAll(unreached, "abCc");
  await checkAll(null, "z");
  // Two owners.
  await checkAll(unreached, "abABaba");
  await checkAll(failed, "zyxwv");
  await checkAll(serviceBusy("Cannot wait: full"), "abcdeabcde");
  await checkAll(unreached, "abcd");
  for (const owner of "abcde") {
    retries.objectOutcome(`${owner}/1 tree 1`, unreached);
  }
  assertEquals(failure(other), null);
  await checkAll(unreached, "e");
  assertEquals(failure(other), unreached);
});

Deno.test("SourceRetries sends one probe after a wait", async () => {
  const third = ref("main", "third");
  const { retries, clock, checkAll, failure } = open();
  await checkAll(unreached, "abcde");
  clock.advance(5_000);
  // A probe without a result leaves the next one to another request.
  await assertRejects(() =>
    retries.check(
      other,
      true,
      () => Promise.reject(serviceBusy("Cannot wait: full")),
    )
  );
  assertEquals(failure(third), null);
  const probe = Promise.withResolvers<void>();
  const probing = retries.check(other, true, () => probe.promise);
  assertEquals(failure(third), unreached);
  probe.resolve();
  await probing;
  assertEquals(failure(third), null);
});
