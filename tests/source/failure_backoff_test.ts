import { assertEquals, assertRejects } from "@std/assert";
import {
  CollectionsError,
  repositoryNotFound,
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
  const fail = async (name: RefName, error: CollectionsError, isKnown = true) => {
    await backoff.check(name, isKnown, () => Promise.reject(error)).catch(() => {});
  };
  return {
    clock,
    backoff,
    fail,
    failure: (name: RefName) => backoff.refFailure(name),
    succeed: (name: RefName) => backoff.check(name, true, () => Promise.resolve()),
    /** One failed check of a repository of each owner. */
    async failAll(error: CollectionsError, owners: string) {
      for (const [index, owner] of owners.split("").entries()) {
        await fail(ref("main", `${index}`, owner), error);
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
  const { clock, fail, failure, succeed, waits } = open();
  const seen: number[] = [];
  for (let times = 0; times < 6; times++) {
    await fail(ref(), failed);
    assertEquals(failure(ref()), failed);
    clock.setWallClock(clock.now() - 3_600_000);
    seen.push(waits(ref()));
  }
  assertEquals(seen, [5, 10, 20, 40, 60, 60]);
  await succeed(ref());
  assertEquals(failure(ref()), null);
  await fail(ref(), failed);
  await fail(ref(), repositoryNotFound("octo", "site"));
  assertEquals(failure(ref()), null, "that there is none is an answer");
});

Deno.test("FailureBackoff waits as long as the source requests, but never over an hour", async () => {
  for (const [restMs, seconds] of [[120_000, 120], [1_000, 5], [86_400_000, 3600]] as const) {
    const { fail, waits } = open();
    await fail(ref(), sourceFailed("answered 503", { restMs }));
    assertEquals(waits(ref()), seconds);
  }
});

Deno.test("a ref that always fails stops none of its siblings, nor do many that were never found", async () => {
  const { clock, fail, failure } = open();
  for (let times = 0; times < 20; times++) {
    await fail(ref("broken"), failed);
    await fail(ref(`no-${times}`), failed, false);
    assertEquals(failure(ref("main")), null);
    clock.advance(60_000);
  }
});

Deno.test("several known refs that fail in a row stop their repository, and an answer ends that", async () => {
  const { backoff, fail, failure, succeed, waits } = open();
  // What is denied of one ref is not said of its siblings.
  const denial = repositoryNotFound("octo", "site");
  await fail(ref("a"), failed);
  await fail(ref("b"), new CollectionsError("source-failed", "failed", { denial }));
  assertEquals([failure(ref("main"))?.denial, failure(other)], [undefined, null]);
  assertEquals(backoff.objectFailure("octo/site", "tree 2")?.code, "source-failed");
  assertEquals(waits(ref("main")), 5);
  // Repeated failures of these two add nothing.
  await fail(ref("a"), failed);
  assertEquals(failure(ref("main")), null);
  await fail(ref("c"), failed);
  assertEquals(waits(ref("main")), 10);
  await succeed(ref("main"));
  await fail(ref("c"), failed);
  assertEquals(failure(ref("main")), null);
});

Deno.test("FailureBackoff takes the source for down after 5 unreached refs in a row over 3 owners", async () => {
  for (const error of [unreached, sourceTimeout("no answer")]) {
    const { fail, failAll, failure, waits } = open();
    await failAll(error, "abCc");
    assertEquals(failure(other), null);
    await fail(ref("main", "5", "a"), error);
    assertEquals(failure(other), error);
    assertEquals(waits(other), 5);
    await fail(ref("main", "6", "a"), error);
    assertEquals(waits(other), 10);
  }
});

const notDown: [string, (opened: ReturnType<typeof open>) => unknown][] = [
  ["two owners", ({ failAll }) => failAll(unreached, "abABaba")],
  ["answers with an error", ({ failAll }) => failAll(failed, "abcdeabcde")],
  ["full queues", ({ failAll }) => failAll(serviceBusy(1), "abcdeabcde")],
  ["objects", ({ backoff }) => {
    for (const owner of "abcde") backoff.objectOutcome(`${owner}/1`, "tree 1", unreached);
  }],
  ["an answer in between", async ({ failAll, succeed }) => {
    await failAll(unreached, "abcd");
    await succeed(ref("main", "z", "z"));
    await failAll(unreached, "abcd");
  }],
  ["an error answer in between", async ({ failAll, fail }) => {
    await failAll(unreached, "abcd");
    await fail(ref("main", "z", "z"), failed);
    await failAll(unreached, "abcd");
  }],
];

Deno.test("FailureBackoff never takes the source for down for less than that", async () => {
  for (const [name, act] of notDown) {
    const opened = open();
    await act(opened);
    assertEquals([name, opened.failure(other)], [name, null]);
  }
});

Deno.test("after a wait one request probes, and the others go on when it was answered", async () => {
  const third = ref("main", "third");
  const { backoff, clock, failAll, failure } = open();
  await failAll(unreached, "abcde");
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
