import { assert, assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { type Quota, type Token, TokenPool } from "../../lib/source/github/tokens.ts";
import { TestClock } from "../test_clock.ts";
import { silentLog } from "./open_github.ts";

const HOUR_SECONDS = 3600;

/** A pool whose first token has most quota left, and all its tokens in the order of their places. */
async function open(count: number) {
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
    /** The token for one request that GitHub answers. */
    async use(quota: Quota = "core", fingerprint?: string): Promise<Token> {
      const token = await pool.choose(quota, fingerprint);
      pool.release(token, quota, true);
      return token;
    },
    async waitSeconds(quota: Quota = "core"): Promise<number | undefined> {
      const error = await assertRejects(() => pool.choose(quota), CollectionsError);
      assertEquals(error.code, "source-rate-limited");
      return error.facts.retryAfterSeconds;
    },
  };
  for (let place = 1; place <= count; place++) {
    const token = await opened.use();
    assertEquals(token.place, place);
    opened.tokens.push(token);
    opened.note(token, 5000 - place);
  }
  return opened;
}

Deno.test("TokenPool chooses the token with most quota left, or a validator's own while that has some", async () => {
  const { note, tokens: [first, second, third], use } = await open(3);
  assertEquals(await use(), first);
  note(first!, 10);
  assertEquals(await use(), second);
  note(second!, 9);
  assertEquals(await use(), third);
  assertEquals(await use("core", second!.fingerprint), second);
  note(second!, 0);
  assertEquals(await use("core", second!.fingerprint), third);
  assertEquals(await use("core", "of a token that is gone"), third);
});

Deno.test("TokenPool counts the quotas separately, and the raw host's without tokens", async () => {
  const { note, pool, tokens: [token], use, waitSeconds } = await open(1);
  note(token!, 0, "graphql");
  assertEquals(await waitSeconds("graphql"), HOUR_SECONDS);
  assertEquals(await use("core"), token);
  const anonymous = await use("raw");
  assertEquals([anonymous.place, anonymous.secret], [0, null]);
  pool.limit(token!, 30_000, "api");
  assertEquals(await use("raw"), anonymous);
  pool.limit(anonymous, 60_000, "raw");
  assertEquals([await waitSeconds("raw"), await waitSeconds("core")], [60, 30]);
});

Deno.test("TokenPool throws until the first quota is there again, when all are spent", async () => {
  const { clock, note, tokens: [first, second], use, waitSeconds } = await open(2);
  note(first!, 0);
  clock.advance(600_000);
  note(second!, 0);
  assertEquals(await waitSeconds(), 3000);
  clock.advance(2_999_000);
  assertEquals(await waitSeconds(), 1);
  clock.advance(1_000);
  assertEquals(await use(), first);
});

Deno.test("TokenPool waits no longer than an hour, and not for a wall clock that is set back", async () => {
  for (const act of ["note", "limit"] as const) {
    const { clock, note, pool, tokens: [token], use, waitSeconds } = await open(1);
    if (act === "note") note(token!, 0, "core", 86_400);
    else pool.limit(token!, 86_400_000, "core");
    assertEquals(await waitSeconds(), HOUR_SECONDS);
    clock.setWallClock(clock.now() - 24 * 3_600_000);
    clock.advance(3_600_000);
    assertEquals(await use(), token);
  }
});

Deno.test("a secondary limit stops a token for the whole API, and no answer under way lifts it", async () => {
  const { clock, note, pool, tokens: [token], use, waitSeconds } = await open(1);
  pool.limit(token!, 30_000, "api");
  pool.limit(token!, 10_000, "api");
  note(token!, 4000);
  assertEquals([await waitSeconds("core"), await waitSeconds("graphql")], [30, 30]);
  clock.advance(30_000);
  assertEquals([await use("core"), await use("graphql")], [token, token]);
});

Deno.test("after a wait one request goes alone, and the others wait for its answer or are limited with it", async () => {
  const { clock, pool, tokens: [token], waitSeconds } = await open(1);
  const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
  pool.limit(token!, 30_000, "api");
  clock.advance(30_000);
  assertEquals(await pool.choose("core"), token);
  let chosen = 0;
  const others = Array.from({ length: 5 }, () => pool.choose("core").then(() => chosen++));
  await turn();
  assertEquals(chosen, 0);
  // The first got no answer: the next one is the probe.
  pool.release(token!, "core", false);
  await turn();
  assertEquals(chosen, 1);
  pool.release(token!, "core", true);
  await Promise.all(others);

  pool.limit(token!, 30_000, "api");
  clock.advance(30_000);
  await pool.choose("core");
  const limited = [waitSeconds(), waitSeconds()];
  pool.limit(token!, 60_000, "api");
  pool.release(token!, "core", false);
  assertEquals(await Promise.all(limited), [60, 60]);
});

Deno.test("TokenPool sets a refused token aside and names it by its place", async () => {
  const { logged, pool, tokens: [first, second], use } = await open(2);
  pool.refuse(first!);
  pool.refuse(first!);
  assertEquals([await use(), pool.hasToken], [second, true]);
  pool.refuse(second!);
  const { place, secret } = await use();
  assertEquals([place, secret, pool.hasToken], [0, null, false]);
  assertEquals(logged, [
    ["token refused", { token: 1, of: 2 }],
    ["token refused", { token: 2, of: 2 }],
    ["all tokens refused, continuing without a token", undefined],
  ]);
});

Deno.test("TokenPool fingerprints differ by token, last over restarts and reveal no token", async () => {
  const prints = (await open(2)).tokens.map(({ fingerprint }) => fingerprint);
  assertEquals((await open(2)).tokens.map(({ fingerprint }) => fingerprint), prints);
  assert(prints[0] !== prints[1] && !prints[0]!.includes("secret"));
  assertEquals((await (await open(0)).use()).fingerprint, "none");
});

Deno.test("TokenPool remaining() adds up what is known", async () => {
  const { pool } = await open(2);
  assertEquals([pool.remaining("core"), pool.remaining("graphql")], [4999 + 4998, null]);
});
