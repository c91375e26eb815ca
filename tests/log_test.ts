import { assert, assertEquals } from "@std/assert";
import {
  describeError,
  LineLog,
  LOG_LEVELS,
  type LogLevel,
  sinkTo,
} from "../lib/log.ts";
import { TestClock, turns } from "./test_clock.ts";

/** A log whose output takes a write only when the test allows it. */
function open(level: LogLevel = "debug") {
  const clock = new TestClock();
  const writes: string[] = [];
  let blocked: Promise<void> = Promise.resolve();
  const log = new LineLog((bytes) => {
    writes.push(new TextDecoder().decode(bytes));
    return blocked;
  }, { level, clock });
  /** Blocks all writes until they are let go. */
  const block = () => {
    const blocking = Promise.withResolvers<void>();
    blocked = blocking.promise;
    return blocking;
  };
  const events = () =>
    writes.join("").split("\n").filter(Boolean).map((line) => JSON.parse(line));
  return { log, clock, writes, block, events };
}

Deno.test("LineLog writes a JSON line an event from its level on", async () => {
  const time = "2026-01-01T00:00:00.000Z";
  const fields = { text: 'a "line"\nof text', none: null };
  for (const [from, level] of LOG_LEVELS.entries()) {
    const { log, events } = open(level);
    log.debug("event", fields);
    log.info("event", fields);
    log.warn("event", fields);
    log.error("event", { ...fields, missing: undefined });
    await log.flush();
    const expected = ["debug", "info", "warn", "error"].slice(from)
      .map((level) => ({ time, level, event: "event", ...fields }));
    assertEquals(events(), expected);
  }
});

Deno.test("LineLog gathers lines for 100 ms or 64 KiB", () => {
  const { log, clock, writes } = open();
  log.info("one");
  log.info("two");
  clock.advance(99);
  assertEquals(writes.length, 0);
  clock.advance(1);
  assertEquals(writes.length, 1);
  const other = open();
  for (let i = 0; i < 70; i++) other.log.line("x".repeat(1_000));
  assertEquals(other.writes.length, 1);
});

Deno.test("LineLog buffers at most 1 MiB and counts dropped lines", async () => {
  const { log, clock, writes, block, events } = open();
  const blocking = block();
  log.info("first");
  clock.advance(100);
  for (let i = 0; i < 3_000; i++) {
    log.line(JSON.stringify({ event: "x".repeat(1_000) }));
  }
  assertEquals(writes.length, 1, "one write is under way");
  blocking.resolve();
  await log.flush();
  const written = events().filter(({ event }) => event.startsWith("x")).length;
  assert(written * 1_013 <= 1 << 20 && written > 1_000, `${written} lines`);
  const reports = events().filter(({ event }) => event === "log lines dropped");
  assertEquals(reports.map(({ level, lines }) => [level, lines]), [[
    "warn",
    3_000 - written,
  ]]);
});

Deno.test("LineLog writes a line that comes when a write has ended", async () => {
  for (let steps = 0; steps < 8; steps++) {
    const { log, clock, events } = open();
    log.info("first");
    log.flush();
    for (let step = 0; step < steps; step++) await Promise.resolve();
    log.info("last");
    clock.advance(100);
    await turns();
    assertEquals(events().length, 2, `after ${steps} steps`);
  }
});

Deno.test("LineLog close() gives up a blocked reader after a second", async () => {
  const { log, clock, block } = open();
  block();
  log.info("first");
  const closing = log.close();
  clock.advance(999);
  assertEquals(clock.timerCount, 1, "it waits still");
  clock.advance(1);
  await closing;
});

Deno.test("LineLog goes on after a write that fails", async () => {
  const { log, block, writes } = open();
  block().reject(new Error("broken pipe"));
  for (const line of ["lost", "written"]) {
    log.line(line);
    await log.flush();
  }
  assertEquals(writes, ["lost\n", "written\n"]);
});

Deno.test("sinkTo() writes all where a file takes a part", async () => {
  let written = "";
  await sinkTo({
    write(bytes) {
      written += new TextDecoder().decode(bytes.subarray(0, 2));
      return Promise.resolve(Math.min(2, bytes.length));
    },
  })(new TextEncoder().encode("written"));
  assertEquals(written, "written");
});

Deno.test("describeError() names the class and position only", () => {
  const { error, at } = describeError(new TypeError("secret /home/someone"));
  assertEquals([error, at?.replace(/\d+$/, "")], ["TypeError", "log_test.ts:"]);
  assertEquals(describeError("secret"), { error: "string" });
});
