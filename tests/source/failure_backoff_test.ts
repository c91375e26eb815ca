import { assertEquals } from "@std/assert";
import { type CollectionsError, sourceFailed, sourceTimeout } from "../../lib/errors.ts";
import { Backoff } from "../../lib/source/backoff.ts";
import { TestClock } from "../test_clock.ts";

const failed = sourceFailed("answered 500");
const unreached = sourceFailed("no connection", { unreachable: true });

function open() {
  const clock = new TestClock();
  const backoff = new Backoff(clock.now);
  /** For how many whole seconds from now a key is left alone. */
  const waits = (key: string) => {
    for (let seconds = 0; seconds <= 90_000; seconds++) {
      if (backoff.remembered(key) === null) return seconds;
      clock.advance(1000);
    }
    return Infinity;
  };
  return { clock, backoff, waits };
}

Deno.test("Backoff doubles the wait of a key up to a minute, and forgets it with a success", () => {
  const { backoff, waits } = open();
  const seen: number[] = [];
  for (let times = 0; times < 6; times++) {
    backoff.failed("a", failed);
    seen.push(waits("a"));
  }
  assertEquals(seen, [5, 10, 20, 40, 60, 60]);
  backoff.failed("a", failed);
  backoff.succeeded("a");
  assertEquals(backoff.remembered("a"), null);
  backoff.failed("a", failed);
  assertEquals(waits("a"), 5);
});

Deno.test("Backoff gives the failure again, for that key alone", () => {
  const { backoff } = open();
  backoff.failed("a", failed, { owner: "octo" });
  assertEquals(backoff.remembered("a"), failed);
  assertEquals(backoff.remembered("b"), null);
});

Deno.test("Backoff waits as long as the source asked for, where that is longer", () => {
  const { backoff, waits } = open();
  backoff.failed("a", sourceFailed("answered 503", { restMs: 120_000 }));
  assertEquals(waits("a"), 120);
  backoff.failed("a", sourceFailed("answered 503", { restMs: 1_000 }));
  assertEquals(waits("a"), 10);
});

const owners = ["a", "b", "c", "d", "e"];

function fail(backoff: Backoff, error: CollectionsError, names: readonly string[]): void {
  for (const [index, owner] of names.entries()) {
    backoff.failed(`${owner}/${index}`, error, { owner });
  }
}

Deno.test("Backoff takes the source for down after 5 unreached refs in a row over 3 owners", () => {
  for (const error of [unreached, sourceTimeout("no answer")]) {
    const { backoff, waits } = open();
    fail(backoff, error, ["a", "b", "C", "c"]);
    assertEquals(backoff.remembered("other/repo"), null);
    fail(backoff, error, ["a"]);
    assertEquals(backoff.remembered("other/repo"), error);
    assertEquals(waits("other/repo"), 5);
    fail(backoff, error, ["a"]);
    assertEquals(waits("other/repo"), 10);
  }
});

Deno.test("Backoff never takes the source for down for less than that", () => {
  const cases: [string, (backoff: Backoff) => void][] = [
    ["two owners", (backoff) => fail(backoff, unreached, ["a", "b", "A", "B", "a", "b", "a"])],
    ["answers with an error", (backoff) => fail(backoff, failed, [...owners, ...owners])],
    ["objects", (backoff) => {
      for (const owner of [...owners, ...owners]) backoff.failed(owner, unreached);
    }],
    ["an answer in between", (backoff) => {
      fail(backoff, unreached, owners.slice(1));
      backoff.succeeded("z/z", { source: true });
      fail(backoff, unreached, owners.slice(1));
    }],
    ["an error answer in between", (backoff) => {
      fail(backoff, unreached, owners.slice(1));
      backoff.failed("z/z", failed, { owner: "z" });
      fail(backoff, unreached, owners.slice(1));
    }],
  ];
  for (const [name, act] of cases) {
    const { backoff } = open();
    act(backoff);
    assertEquals([name, backoff.remembered("other/repo")], [name, null]);
  }
});

Deno.test("Backoff lets everyone ask again after one answer", () => {
  const { backoff } = open();
  fail(backoff, unreached, owners);
  assertEquals(backoff.remembered("other/repo"), unreached);
  backoff.succeeded("z/z", { source: true });
  assertEquals(backoff.remembered("other/repo"), null);
  assertEquals(backoff.remembered("a/0"), unreached);
});

Deno.test("Backoff counts failures that were under way together as one", () => {
  const { backoff, waits } = open();
  fail(backoff, unreached, [...owners, ...owners, ...owners]);
  assertEquals(waits("other/repo"), 5);
  for (let branch = 0; branch < 4; branch++) backoff.failed("key", failed);
  assertEquals(waits("key"), 5);
  backoff.failed("key", failed);
  backoff.failed("key", sourceFailed("later", { restMs: 30_000 }));
  assertEquals(waits("key"), 30);
});
