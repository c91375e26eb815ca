import { assert, assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import {
  type Quota,
  type Token,
  tokenList,
  TokenPool,
} from "../../lib/source/github/tokens.ts";
import { TestClock, turns } from "../test_clock.ts";
import { AHEAD_CLIENT } from "../../lib/source/source.ts";
import { recordedLog, silentLog, uncharged } from "./open_github.ts";

const HOUR_SECONDS = 3600;
const CHECK = { owner: "octo", context: uncharged, isBulk: false };

/**
 * A pool whose first token has most quota left, and all its tokens in the order
 * of their places. The quota without a token is spent for an hour.
 */
async function open(count: number) {
  const clock = new TestClock();
  const { log, lines } = recordedLog();
  const secrets = Array.from({ length: count }, (_, n) => `very-secret-${n}`);
  const pool = new TokenPool(tokenList(secrets), { clock, log });
  /** Records that a token has so much left for an hour. */
  const note = (token: Token, remaining: number, limit = 5000) => {
    const headers = {
      "x-ratelimit-limit": `${limit}`,
      "x-ratelimit-remaining": `${remaining}`,
      "x-ratelimit-reset": `${clock.now() / 1000 + HOUR_SECONDS}`,
    };
    pool.note(token, "core", new Headers(headers));
  };
  /** The token for one request that GitHub answers. */
  const use = async (
    quota: Quota = "core",
    known: Token | null = null,
  ): Promise<Token> => {
    const token = await pool.choose(quota, { ...CHECK, known });
    pool.release(token, quota, true);
    return token;
  };
  const waitSeconds = async (quota: Quota = "core") => {
    const { facts } = await assertRejects(
      () => pool.choose(quota, CHECK),
      CollectionsError,
    );
    return facts.retryAfterSeconds;
  };
  const tokens: Token[] = [];
  for (let place = 1; place <= count; place++) {
    const token = await use();
    assertEquals(token.label, place);
    tokens.push(token);
    note(token, 5000 - place);
  }
  pool.limit(await use("raw"), HOUR_SECONDS * 1000, "core");
  lines.length = 0;
  const [first, second, third] = tokens as [Token, Token, Token];
  return { clock, pool, lines, first, second, third, note, use, waitSeconds };
}

Deno.test("TokenPool chooses the most quota or a validator's token", async () => {
  const { first, note, pool, second, third, use } = await open(3);
  assertEquals(pool.remaining("core"), 4999 + 4998 + 4997);
  assertEquals(await use(), first);
  note(first, 10);
  assertEquals(await use(), second);
  assertEquals(await use("core", third), third);
  note(third, 0);
  assertEquals(await use("core", third), second);
});

Deno.test("TokenPool throws until the first quota is there again", async () => {
  const { clock, first, note, second, use, waitSeconds } = await open(2);
  note(first, 0);
  clock.advance(600_000);
  note(second, 0);
  assertEquals(await waitSeconds(), 3000);
  clock.advance(2_999_000);
  assertEquals(await waitSeconds(), 1);
  clock.advance(1_000);
  assertEquals(await use(), first);
});

Deno.test("TokenPool doubles the wait after each secondary limit", async () => {
  const { clock, first, lines, pool, use, waitSeconds } = await open(1);
  const rows = [
    { stated: 60, seconds: 60 },
    { stated: 60, seconds: 120 },
    { stated: 17, seconds: 240 },
    { stated: 60, seconds: 480 },
    { stated: 60, seconds: 900 },
    { stated: 3600, seconds: 3600 },
  ];
  for (const { stated, seconds } of rows) {
    pool.limit(first, stated * 1000, "api");
    // What was under way then met the same limit.
    pool.limit(first, 10_000, "api");
    assertEquals(await waitSeconds("graphql"), seconds);
    clock.advance(seconds * 1000);
    assertEquals(await use(), first);
    clock.advance(60_000);
  }
  assertEquals(lines.length, rows.length);
  clock.advance(840_000);
  pool.limit(first, 60_000, "api");
  assertEquals(await waitSeconds("graphql"), 60);
});

Deno.test("TokenPool ends the wait for another's request with its caller", async () => {
  const { clock, first, pool } = await open(1);
  pool.limit(first, 60_000, "api");
  clock.advance(60_000);
  assertEquals(await pool.choose("core", CHECK), first);
  const left = new AbortController();
  const context = { ...uncharged, signal: left.signal };
  const waiting = pool.choose("core", { ...CHECK, context });
  await turns();
  left.abort(new Error("left"));
  await assertRejects(() => waiting, Error, "left");
  pool.release(first, "core", true);
});

/** How many requests a token takes now. */
async function takeAll(
  pool: TokenPool,
  isBulk: boolean,
  client = uncharged.client,
): Promise<number> {
  const left = new AbortController();
  const context = { ...uncharged, client, signal: left.signal };
  for (let taken = 0;; taken++) {
    const chosen = pool.choose("core", { ...CHECK, context, isBulk }).then(
      () => true,
      () => false,
    );
    const turn = new Promise<null>((resume) => setTimeout(resume, 0, null));
    if (await Promise.race([chosen, turn])) continue;
    left.abort();
    await chosen;
    return taken;
  }
}

Deno.test("TokenPool takes at most 900 requests a minute of a token", async () => {
  for (const isolates of [1, 2, 64]) {
    const clock = new TestClock();
    const pool = new TokenPool(tokenList(["t1"]), {
      clock,
      log: silentLog,
      isolates: () => isolates,
    });
    clock.advance(3_600_000);
    const bulk = await takeAll(pool, true);
    const checks = await takeAll(pool, false);
    assert(checks > 0 || isolates === 64, "checks wait behind bulk reads");
    let perMinute = bulk + checks;
    for (let second = 0; second < 60; second++) {
      clock.advance(1_000);
      perMinute += await takeAll(pool, second % 2 === 0);
    }
    assert(perMinute * isolates <= 900, `${perMinute} a minute`);
    assert(perMinute * isolates > 800, `${perMinute} a minute`);
  }
});

Deno.test("TokenPool keeps a part of its pace for what matters more", async () => {
  const { clock, pool } = await open(1);
  clock.advance(3_600_000);
  const taken = [
    await takeAll(pool, false, AHEAD_CLIENT),
    await takeAll(pool, true),
    await takeAll(pool, false),
  ];
  assert(taken.every((count) => count > 40), `${taken}`);
  assertEquals(await takeAll(pool, true), 0);
});

Deno.test("TokenPool lets checks keep no request from its turn", async () => {
  const { clock, pool } = await open(1);
  clock.advance(3_600_000);
  await takeAll(pool, false);
  let longestSleepMs = 0;
  const sleep = clock.sleep.bind(clock);
  clock.sleep = (ms, signal) => {
    longestSleepMs = Math.max(longestSleepMs, ms);
    return sleep(ms, signal);
  };
  for (
    const [isBulk, client] of [[true, "a"], [false, AHEAD_CLIENT]] as const
  ) {
    let isChosen = false;
    const context = { ...uncharged, client };
    pool.choose("core", { ...CHECK, context, isBulk })
      .then(() => isChosen = true);
    let waitedMs = 0;
    for (; !isChosen && waitedMs < 60_000; waitedMs += 100) {
      clock.advance(100);
      await turns();
      await takeAll(pool, false);
    }
    assert(waitedMs > 4_000 && waitedMs < 6_000, `${waitedMs} ms`);
    assertEquals(longestSleepMs, 5_000);
  }
});

Deno.test("TokenPool uses the next token if one is at its pace", async () => {
  const { clock, first, pool, second } = await open(2);
  clock.advance(60_000);
  await takeAll(pool, true);
  const chosen = new Set<Token>();
  for (let n = 0; n < 60; n++) chosen.add(await pool.choose("core", CHECK));
  assertEquals(chosen, new Set([first, second]));
});

Deno.test("TokenPool paces no token whose quota is not github.com's", async () => {
  const { first, note, pool } = await open(1);
  note(first, 100_000, 100_000);
  for (let n = 0; n < 2_000; n++) {
    assertEquals(await pool.choose("core", CHECK), first);
  }
});

Deno.test("TokenPool fingerprints reveal no token", async () => {
  const { first, second } = await open(2);
  assert(first.fingerprint !== second.fingerprint);
  assert(!first.fingerprint.includes("secret"));
});
