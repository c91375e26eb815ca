import { assertEquals, assertRejects } from "@std/assert";
import {
  CollectionsError,
  problem,
  serviceBusy,
  sourceFailed,
  sourceTimeout,
} from "../../lib/errors.ts";
import { FailureBackoff } from "../../lib/source/failure_backoff.ts";
import type { RefName } from "../../lib/source/source.ts";
import { TestClock } from "../test_clock.ts";

const failed = sourceFailed("answered 500");
const unreached = sourceFailed("no connection", { unreachable: true });

const ref = (branch = "main", repo = "site", owner = "octo"): RefName => ({ owner, repo, branch });
const other = ref("main", "other", "other");

function open() {
  const clock = new TestClock();
  const backoff = new FailureBackoff(clock);
  /** One check, which fails unless the error is null. */
  const check = async (name: RefName, error: CollectionsError | null, isKnown = true) => {
    const outcome = () => error === null ? Promise.resolve() : Promise.reject(error);
    await backoff.check(name, isKnown, outcome).catch(() => {});
  };
  return {
    clock,
    backoff,
    check,
    failure: (name: RefName) => backoff.refFailure(name),
    /** One check of a repository of each owner. */
    async checkAll(error: CollectionsError | null, owners: string) {
      for (const [index, owner] of owners.split("").entries()) {
        await check(ref("main", `${index}`, owner), error);
      }
    },
    /** For how many whole seconds from now a ref is not requested. */
    waits(name: RefName): number {
      for (let seconds = 0; seconds <= 90_000; seconds++) {
        if (backoff.refFailure(name) === null) return seconds;
        clock.advance(1000);
      }
      return Infinity;
    },
  };
}

Deno.test("FailureBackoff doubles the wait of a ref up to a minute, and ends it with an answer", async () => {
  const { check, clock, failure, waits } = open();
  const seen: number[] = [];
  for (let times = 0; times < 6; times++) {
    await check(ref(), failed);
    assertEquals(failure(ref()), failed);
    clock.setWallClock(clock.now() - 3_600_000);
    seen.push(waits(ref()));
  }
  assertEquals(seen, [5, 10, 20, 40, 60, 60]);
  await check(ref(), null);
  assertEquals(failure(ref()), null);
  await check(ref(), failed);
  await check(ref(), problem("repository-not-found", { owner: "octo", repo: "site" }));
  assertEquals(failure(ref()), null, "that there is none is an answer");
});

Deno.test("FailureBackoff waits as long as the source requests, but never over an hour", async () => {
  for (const [restMs, seconds] of [[120_000, 120], [1_000, 5], [86_400_000, 3600]] as const) {
    const { check, waits } = open();
    await check(ref(), sourceFailed("answered 503", { restMs }));
    assertEquals(waits(ref()), seconds);
  }
});

Deno.test("a ref that always fails stops none of its siblings, nor do many that were never found", async () => {
  const { check, clock, failure } = open();
  for (let times = 0; times < 20; times++) {
    await check(ref("broken"), failed);
    await check(ref(`no-${times}`), failed, false);
    assertEquals(failure(ref("main")), null);
    clock.advance(60_000);
  }
});

Deno.test("several known refs that fail in a row stop their repository, and an answer ends that", async () => {
  const { backoff, check, failure, waits } = open();
  // What is denied of one ref is not said of its siblings.
  const denial = problem("repository-not-found", { owner: "octo", repo: "site" });
  await check(ref("a"), failed);
  await check(ref("b"), new CollectionsError("source-failed", "failed", { denial }));
  assertEquals([failure(ref("main"))?.denial, failure(other)], [undefined, null]);
  assertEquals(backoff.objectFailure("octo/site", "tree 2")?.code, "source-failed");
  assertEquals(waits(ref("main")), 5);
  // Repeated failures of these two add nothing.
  await check(ref("a"), failed);
  assertEquals(failure(ref("main")), null);
  await check(ref("c"), failed);
  assertEquals(waits(ref("main")), 10);
  await check(ref("main"), null);
  await check(ref("d"), failed);
  assertEquals(failure(ref("main")), null);
});

type Checks = [owners: string, outcome: CollectionsError | null];

const rows: [name: string, isDown: boolean, ...Checks[]][] = [
  ["five in a row of three owners", true, ["abCca", unreached]],
  ["five late answers", true, ["abCca", sourceTimeout("no answer")]],
  ["four in a row", false, ["abCc", unreached]],
  ["two owners", false, ["abABaba", unreached]],
  ["answers with an error", false, ["abcdeabcde", failed]],
  ["full queues", false, ["abcdeabcde", serviceBusy(1)]],
  ["an answer in between", false, ["abcd", unreached], ["z", null], ["abcd", unreached]],
  ["an error answer in between", false, ["abcd", unreached], ["z", failed], ["abcd", unreached]],
];

Deno.test("FailureBackoff takes the source for down after 5 unreached refs in a row over 3 owners, and not before", async () => {
  for (const [name, isDown, ...checks] of rows) {
    const { backoff, checkAll, failure, waits } = open();
    for (const [owners, outcome] of checks) await checkAll(outcome, owners);
    for (const owner of "abcde") backoff.objectOutcome(`${owner}/1`, "tree 1", unreached);
    assertEquals([name, failure(other) !== null], [name, isDown]);
    if (!isDown) continue;
    assertEquals(waits(other), 5);
    await checkAll(unreached, "a");
    assertEquals(waits(other), 10);
  }
});

Deno.test("after a wait one request probes, and the others go on when it was answered", async () => {
  const third = ref("main", "third");
  const { backoff, clock, checkAll, failure } = open();
  await checkAll(unreached, "abcde");
  clock.advance(5_000);
  await assertRejects(() => backoff.check(other, true, () => Promise.reject(unreached)));
  assertEquals(failure(third), unreached);
  // A probe without a result leaves the next one to another request.
  clock.advance(10_000);
  await assertRejects(() => backoff.check(other, true, () => Promise.reject(serviceBusy(1))));
  assertEquals(failure(third), null);
  const probe = Promise.withResolvers<void>();
  const probing = backoff.check(other, true, () => probe.promise);
  assertEquals(failure(third), unreached);
  probe.resolve();
  await probing;
  assertEquals(failure(third), null);
});
