import { assert, assertEquals } from "@std/assert";
import { describeError, LineLog, type LogLevel, sinkTo } from "../lib/log.ts";
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
  /** Blocks all writes until the function that it gives is called. */
  const block = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    blocked = promise;
    return resolve;
  };
  const events = () =>
    writes.join("").split("\n").filter(Boolean).map((line) => JSON.parse(line));
  return { log, clock, writes, block, events };
}

Deno.test("LineLog writes a JSON line an event from its level on", async () => {
  const time = "2026-01-01T00:00:00.000Z";
  const lines = [
    { time, level: "debug", event: "one" },
    { time, level: "info", event: "two", count: 2, none: null },
    { time, level: "warn", event: "three", text: 'a "line"\nof text' },
    { time, level: "error", event: "four" },
  ];
  for (
    const [level, from] of [["debug", 0], ["warn", 2], ["silent", 4]] as const
  ) {
    const { log, events } = open(level);
    log.debug("one");
    log.info("two", { count: 2, missing: undefined, none: null });
    log.warn("three", { text: 'a "line"\nof text' });
    log.error("four");
    await log.flush();
    assertEquals(events(), lines.slice(from));
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
  const release = block();
  log.info("first");
  clock.advance(100);
  for (let i = 0; i < 3_000; i++) {
    log.line(JSON.stringify({ event: "x".repeat(1_000) }));
  }
  assertEquals(writes.length, 1, "one write is under way");
  release();
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
  let written = "";
  const sink = sinkTo({
    write(bytes) {
      written += new TextDecoder().decode(bytes.subarray(0, 2));
      return Promise.resolve(Math.min(2, bytes.length));
    },
  });
  const write = (bytes: Uint8Array) => {
    if (bytes[0] === "l".charCodeAt(0)) throw new Error("broken pipe");
    return sink(bytes);
  };
  const log = new LineLog(write, { level: "info", clock: new TestClock() });
  for (const line of ["lost", "written"]) {
    log.line(line);
    await log.flush();
  }
  assertEquals(written, "written\n");
});

Deno.test("describeError() names the class and position only", () => {
  const { error, at } = describeError(new TypeError("secret /home/someone"));
  assertEquals([error, at?.replace(/\d+$/, "")], ["TypeError", "log_test.ts:"]);
  assertEquals(describeError("secret"), { error: "string" });
});
