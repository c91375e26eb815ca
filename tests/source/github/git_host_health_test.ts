import { assertEquals } from "@std/assert";
import { GitHostHealth } from "../../../lib/source/github/git_host_health.ts";
import type { LsRefsResult } from "../../../lib/source/github/ls_refs.ts";

const MINUTE_MS = 60_000;
const failed: LsRefsResult = { kind: "unusable", reason: "the host answered 502" };
const found: LsRefsResult = {
  kind: "found",
  as: "branch",
  commit: "a".repeat(40),
  owner: "a",
  repo: "r",
  defaultBranch: "main",
};

function start() {
  const clock = { nowMs: 1_000_000 };
  const health = new GitHostHealth(() => clock.nowMs);
  const named = (name: string) => {
    const [owner = "", repo = ""] = name.split("/");
    return { owner, repo };
  };
  return {
    clock,
    allows: (name: string) => health.allows(named(name)),
    record: (name: string, result: LsRefsResult) =>
      health.record(named(name), result)?.what ?? null,
  };
}

Deno.test("GitHostHealth leaves one failing repository alone for ten minutes", () => {
  const { clock, allows, record } = start();
  assertEquals(record("A/r", failed), "repository");
  assertEquals([allows("a/R"), allows("a/other"), allows("b/r")], [false, true, true]);
  clock.nowMs += 10 * MINUTE_MS - 1;
  assertEquals(allows("a/r"), false);
  clock.nowMs += 1;
  assertEquals(allows("a/r"), true);
});

Deno.test("GitHostHealth leaves the host alone for an hour after five failures in a row of three owners", () => {
  const { clock, allows, record } = start();
  const names = ["a/1", "a/2", "b/1", "c/1"];
  assertEquals(names.map((name) => record(name, failed)), Array(4).fill("repository"));
  assertEquals(allows("d/1"), true);
  assertEquals(record("c/2", failed), "host");
  assertEquals(allows("d/1"), false);
  clock.nowMs += 60 * MINUTE_MS - 1;
  assertEquals(allows("d/1"), false);
  clock.nowMs += 1;
  assertEquals([allows("d/1"), record("d/1", failed)], [true, "repository"]);
});

Deno.test("GitHostHealth counts owners, not repositories, and the third whenever it comes", () => {
  const { record } = start();
  for (let n = 0; n < 50; n++) {
    assertEquals(record(`${n % 2 ? "a" : "B"}/${n}`, failed), "repository");
  }
  assertEquals(record("A/50", failed), "repository");
  assertEquals(record("c/1", failed), "host");
});

for (const kind of ["found", "missing", "unborn", "denied"] as const) {
  Deno.test(`GitHostHealth starts the row anew after "${kind}"`, () => {
    const { allows, record } = start();
    const result = kind === "denied" ? { kind } : { ...found, kind };
    for (let n = 0; n < 4; n++) record(`${n}/r`, failed);
    assertEquals(record("x/r", result as LsRefsResult), null);
    for (let n = 4; n < 8; n++) assertEquals(record(`${n}/r`, failed), "repository");
    assertEquals([allows("x/r"), record("8/r", failed)], [true, "host"]);
    for (let n = 0; n < 3; n++) record(`${n}/r`, failed);
    record("x/r", result as LsRefsResult);
    for (let n = 0; n < 6; n++) assertEquals(record(`x/${n}`, failed), "repository");
  });
}

Deno.test("GitHostHealth never counts 401", () => {
  const { allows, record } = start();
  for (let n = 0; n < 20; n++) assertEquals(record(`${n}/r`, { kind: "denied" }), null);
  assertEquals(allows("0/r"), true);
});

Deno.test("GitHostHealth leaves the host alone for as long as a 429 says, and never for less than before", () => {
  const { clock, allows, record } = start();
  assertEquals(record("a/r", { kind: "rate-limited", retryAfterMs: 5000 }), "host");
  assertEquals(record("b/r", { kind: "rate-limited", retryAfterMs: 1000 }), "host");
  clock.nowMs += 4999;
  assertEquals([allows("a/r"), allows("c/r")], [false, false]);
  clock.nowMs += 1;
  assertEquals([allows("a/r"), allows("c/r")], [true, true]);
});

Deno.test("GitHostHealth drops the oldest of 10,000 failing repositories", () => {
  const { allows, record } = start();
  for (let n = 0; n <= 10_000; n++) record(`a/${n}`, failed);
  assertEquals([allows("a/0"), allows("a/1"), allows("a/10000")], [true, false, false]);
});
