import { assert, assertEquals, assertThrows } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { type Quota, type Token, TokenPool } from "../../lib/source/github/tokens.ts";
import { TestClock } from "../test_clock.ts";
import { silentLog } from "./open_github.ts";

const HOUR_SECONDS = 3600;

/** A pool whose first token has most quota left, and all its tokens in the order of their places. */
function open(count: number) {
  const clock = new TestClock();
  const logged: [event: string, fields: unknown][] = [];
  const log = (event: string, fields?: unknown) => void logged.push([event, fields]);
  const secrets = Array.from({ length: count }, (_, index) => `very-secret-${index + 1}`);
  const pool = new TokenPool(secrets, { clock, log: { ...silentLog, error: log, warn: log } });
  const opened = {
    clock,
    pool,
    logged,
    tokens: [] as Token[],
    /** Records that a token has so much left, for an hour or for longer. */
    note(token: Token, remaining: number, quota: Quota = "core", seconds = HOUR_SECONDS) {
      const reset = String(clock.now() / 1000 + seconds);
      const headers = { "x-ratelimit-remaining": `${remaining}`, "x-ratelimit-reset": reset };
      pool.note(token, quota, new Headers(headers));
    },
    use: (quota: Quota = "core", fingerprint?: string) => pool.choose(quota, fingerprint),
    waitSeconds(quota: Quota = "core"): number | undefined {
      const error = assertThrows(() => pool.choose(quota), CollectionsError);
      assertEquals(error.code, "source-rate-limited");
      return error.facts.retryAfterSeconds;
    },
  };
  for (let place = 1; place <= count; place++) {
    const token = opened.use();
    assertEquals(token.place, place);
    opened.tokens.push(token);
    opened.note(token, 5000 - place);
  }
  return opened;
}

Deno.test("TokenPool chooses the token with most quota left, or a validator's own while that has some", () => {
  const { note, tokens: [first, second, third], use } = open(3);
  assertEquals(use(), first);
  note(first!, 10);
  assertEquals(use(), second);
  note(second!, 9);
  assertEquals(use(), third);
  assertEquals(use("core", second!.fingerprint), second);
  note(second!, 0);
  assertEquals(use("core", second!.fingerprint), third);
  assertEquals(use("core", "of a token that is gone"), third);
});

Deno.test("TokenPool counts the quotas separately, and the raw host's without tokens", () => {
  const { note, pool, tokens: [token], use, waitSeconds } = open(1);
  note(token!, 0, "graphql");
  assertEquals(waitSeconds("graphql"), HOUR_SECONDS);
  assertEquals(use("core"), token);
  const anonymous = use("raw");
  assertEquals([anonymous.place, anonymous.secret], [0, null]);
  pool.limit(token!, 30_000, "api");
  assertEquals(use("raw"), anonymous);
  pool.limit(anonymous, 60_000, "raw");
  assertEquals([waitSeconds("raw"), waitSeconds("core")], [60, 30]);
});

Deno.test("TokenPool throws until the first quota is there again, when all are spent", () => {
  const { clock, note, tokens: [first, second], use, waitSeconds } = open(2);
  note(first!, 0);
  clock.advance(600_000);
  note(second!, 0);
  assertEquals(waitSeconds(), 3000);
  clock.advance(2_999_000);
  assertEquals(waitSeconds(), 1);
  clock.advance(1_000);
  assertEquals(use(), first);
});

Deno.test("TokenPool waits no longer than an hour, and not for a wall clock that is set back", () => {
  for (const act of ["note", "limit"] as const) {
    const { clock, note, pool, tokens: [token], use, waitSeconds } = open(1);
    if (act === "note") note(token!, 0, "core", 86_400);
    else pool.limit(token!, 86_400_000, "core");
    assertEquals(waitSeconds(), HOUR_SECONDS);
    clock.setWallClock(clock.now() - 24 * 3_600_000);
    clock.advance(3_600_000);
    assertEquals(use(), token);
  }
});

Deno.test("a secondary limit stops a token for the whole API, and no answer under way lifts it", () => {
  const { clock, note, pool, tokens: [token], use, waitSeconds } = open(1);
  pool.limit(token!, 30_000, "api");
  pool.limit(token!, 10_000, "api");
  note(token!, 4000);
  assertEquals([waitSeconds("core"), waitSeconds("graphql")], [30, 30]);
  clock.advance(30_000);
  assertEquals([use("core"), use("graphql")], [token, token]);
});

Deno.test("TokenPool sets a refused token aside and names it by its place", () => {
  const { logged, pool, tokens: [first, second], use } = open(2);
  pool.refuse(first!);
  pool.refuse(first!);
  assertEquals([use(), pool.hasToken], [second, true]);
  pool.refuse(second!);
  const { place, secret } = use();
  assertEquals([place, secret, pool.hasToken], [0, null, false]);
  assertEquals(logged, [
    ["token refused", { token: 1, of: 2 }],
    ["token refused", { token: 2, of: 2 }],
    ["all tokens refused, continuing without a token", undefined],
  ]);
});

Deno.test("TokenPool fingerprints differ by token, last over restarts and reveal no token", () => {
  const prints = open(2).tokens.map(({ fingerprint }) => fingerprint);
  assertEquals(open(2).tokens.map(({ fingerprint }) => fingerprint), prints);
  assert(prints[0] !== prints[1] && !prints[0]!.includes("secret"));
  assertEquals((open(0).use()).fingerprint, "none");
});

Deno.test("TokenPool remaining() adds up what is known", () => {
  const { pool } = open(2);
  assertEquals([pool.remaining("core"), pool.remaining("graphql")], [4999 + 4998, null]);
});
