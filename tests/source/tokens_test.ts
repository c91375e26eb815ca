import { assert, assertEquals, assertThrows } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { LineLog } from "../../lib/log.ts";
import { type Quota, type Token, TokenPool } from "../../lib/source/github_tokens.ts";
import { TestClock } from "../test_clock.ts";

function open(secrets: readonly string[]) {
  const clock = new TestClock();
  let text = "";
  const log = new LineLog((bytes) => void (text += new TextDecoder().decode(bytes)), {
    level: "debug",
  });
  const pool = new TokenPool(secrets, { now: clock.now, log });
  return {
    clock,
    pool,
    /** Notes that a token has so much left, for an hour from now or for longer. */
    note(token: Token, remaining: number, quota: Quota = "core", seconds = 3600) {
      const reset = String(clock.now() / 1000 + seconds);
      const headers = { "x-ratelimit-remaining": `${remaining}`, "x-ratelimit-reset": reset };
      pool.note(token, quota, new Headers(headers));
    },
    logged() {
      log.flush();
      return text;
    },
  };
}

/** All tokens, in the order of their places. */
function tokensOf({ pool, note }: ReturnType<typeof open>, count: number): Token[] {
  const tokens: Token[] = [];
  for (let place = 1; place <= count; place++) {
    const token = pool.choose("core");
    tokens.push(token);
    note(token, 5000 - place);
  }
  assertEquals(tokens.map(({ place }) => place), Array.from({ length: count }, (_, i) => i + 1));
  return tokens;
}

function waitSeconds(pool: TokenPool, quota: Quota): number | undefined {
  const error = assertThrows(() => pool.choose(quota), CollectionsError);
  assertEquals(error.code, "source-rate-limited");
  return error.facts.retryAfterSeconds;
}

Deno.test("TokenPool choose() gives the token with most quota left", () => {
  const opened = open(["s1", "s2", "s3"]);
  const { pool, note } = opened;
  const [first, second, third] = tokensOf(opened, 3);
  assertEquals(pool.choose("core"), first);
  note(first!, 10);
  assertEquals(pool.choose("core"), second);
  note(second!, 9);
  assertEquals(pool.choose("core"), third);
  note(third!, 8);
  assertEquals(pool.choose("core"), first);
});

Deno.test("TokenPool choose() gives a validator's own token while that has quota", () => {
  const opened = open(["s1", "s2"]);
  const { pool, note } = opened;
  const [first, second] = tokensOf(opened, 2);
  note(second!, 1);
  assertEquals(pool.choose("core", second!.fingerprint), second);
  note(second!, 0);
  assertEquals(pool.choose("core", second!.fingerprint), first);
  assertEquals(pool.choose("core", "of a token that is gone"), first);
});

Deno.test("TokenPool keeps the two quotas apart", () => {
  const opened = open(["s1"]);
  const { pool, note } = opened;
  const [token] = tokensOf(opened, 1);
  note(token!, 0, "graphql");
  assertEquals(waitSeconds(pool, "graphql"), 3600);
  assertEquals(pool.choose("core"), token);
});

Deno.test("TokenPool choose() throws until the first quota is there again, when all are spent", () => {
  const opened = open(["s1", "s2"]);
  const { clock, pool, note } = opened;
  const [first, second] = tokensOf(opened, 2);
  note(first!, 0);
  clock.advance(600_000);
  note(second!, 0);
  assertEquals(waitSeconds(pool, "core"), 3000);
  clock.advance(2_999_000);
  assertEquals(waitSeconds(pool, "core"), 1);
  clock.advance(1_000);
  assertEquals(pool.choose("core"), first);
});

Deno.test("TokenPool believes no header that a quota is away for more than a day", () => {
  for (const act of ["note", "limit"] as const) {
    const opened = open(["s1"]);
    const { clock, pool, note } = opened;
    const [token] = tokensOf(opened, 1);
    const seconds = 1e9;
    if (act === "note") note(token!, 0, "core", seconds);
    else pool.limit(token!, clock.now() + seconds * 1000, "core");
    assertEquals(waitSeconds(pool, "core"), 24 * 3600);
  }
});

Deno.test("TokenPool limit() without a quota stops a token for everything", () => {
  const opened = open(["s1"]);
  const { clock, pool } = opened;
  const [token] = tokensOf(opened, 1);
  pool.limit(token!, clock.now() + 30_000);
  pool.limit(token!, clock.now() + 10_000);
  assertEquals([waitSeconds(pool, "core"), waitSeconds(pool, "graphql")], [30, 30]);
  clock.advance(30_000);
  assertEquals([pool.choose("core"), pool.choose("graphql")], [token, token]);
});

Deno.test("TokenPool refuse() sets a token aside and names it by its place", () => {
  const opened = open(["very-secret-1", "very-secret-2"]);
  const { pool } = opened;
  const [first, second] = tokensOf(opened, 2);
  pool.refuse(first!);
  pool.refuse(first!);
  assertEquals([pool.choose("core"), pool.hasToken], [second, true]);
  pool.refuse(second!);
  const { place, secret } = pool.choose("core");
  assertEquals([place, secret, pool.hasToken], [0, null, false]);

  const lines = opened.logged().trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.map(({ level, event, token }) => [level, event, token]), [
    ["error", "token refused", 1],
    ["error", "token refused", 2],
    ["error", "all tokens refused, going on without a token", undefined],
  ]);
  assert(!/secret/.test(opened.logged()));
});

Deno.test("TokenPool fingerprints tell tokens apart, hold over restarts and tell no token", () => {
  const of = (secret: string) => open([secret]).pool.choose("core").fingerprint;
  assertEquals(of("s1"), of("s1"));
  assert(of("s1") !== of("s2"));
  assert(!of("s1").includes("s1"));
  assertEquals(open([]).pool.choose("core").fingerprint, "none");
});

Deno.test("TokenPool remaining() adds up what is known", () => {
  const opened = open(["s1", "s2"]);
  assertEquals(opened.pool.remaining("core"), null);
  tokensOf(opened, 2);
  assertEquals(opened.pool.remaining("core"), 4999 + 4998);
  assertEquals(opened.pool.remaining("graphql"), null);
});
