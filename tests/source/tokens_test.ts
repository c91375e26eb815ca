import { assert, assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import {
  type Quota,
  type Token,
  tokenList,
  TokenPool,
} from "../../lib/source/github/tokens.ts";
import { TestClock } from "../test_clock.ts";
import { silentLog, uncharged } from "./open_github.ts";

const HOUR_SECONDS = 3600;
const CHECK = { owner: "octo", context: uncharged, isBulk: false };

/**
 * A pool whose first token has most quota left, and all its tokens in the order
 * of their places. The quota without a token is spent for an hour, unless
 * `anonymous` says otherwise.
 */
async function open(count: number, { anonymous = false } = {}) {
  const clock = new TestClock();
  const logged: [event: string, fields: unknown][] = [];
  const log = (event: string, fields?: unknown) =>
    void logged.push([event, fields]);
  const secrets = Array.from(
    { length: count },
    (_, index) => `very-secret-${index + 1}`,
  );
  const pool = new TokenPool(tokenList(secrets), {
    clock,
    log: { ...silentLog, error: log, warn: log },
    isolates: () => 1,
  });
  const tokens: Token[] = [];
  /** Records that a token has so much left, for an hour or for longer. */
  const note = (
    token: Token,
    remaining: number,
    quota: Quota = "core",
    seconds = HOUR_SECONDS,
  ) => {
    const reset = `${clock.now() / 1000 + seconds}`;
    const headers = {
      "x-ratelimit-remaining": `${remaining}`,
      "x-ratelimit-reset": reset,
    };
    pool.note(token, quota, new Headers(headers));
  };
  /** The token for one request that GitHub answers. */
  const use = async (
    quota: Quota = "core",
    { owner = "octo", known = null }: {
      owner?: string;
      known?: { fingerprint: string } | null;
    } = {},
  ): Promise<Token> => {
    const token = await pool.choose(quota, { ...CHECK, owner, known });
    pool.release(token, quota, true);
    return token;
  };
  const waitSeconds = async (
    quota: Quota = "core",
    owner = "octo",
  ): Promise<number | undefined> => {
    const { code, facts } = await assertRejects(
      () => pool.choose(quota, { ...CHECK, owner }),
      CollectionsError,
    );
    assertEquals(code, "source-rate-limited");
    return facts.retryAfterSeconds;
  };
  for (let place = 1; place <= count; place++) {
    const token = await use();
    assertEquals(token.label, place);
    tokens.push(token);
    note(token, 5000 - place);
  }
  if (!anonymous) pool.limit(await use("raw"), HOUR_SECONDS * 1000, "api");
  logged.length = 0;
  const [first, second, third] = tokens as [Token, Token, Token];
  return { clock, pool, logged, first, second, third, note, use, waitSeconds };
}

Deno.test("TokenPool chooses the most quota or a validator's token", async () => {
  const { first, note, pool, second, third, use } = await open(3);
  assertEquals([pool.remaining("core"), pool.remaining("graphql")], [
    4999 + 4998 + 4997,
    null,
  ]);
  assertEquals(await use(), first);
  note(first, 10);
  assertEquals(await use(), second);
  note(second, 9);
  assertEquals(await use(), third);
  assertEquals(await use("core", { known: second }), second);
  note(second, 0);
  assertEquals(await use("core", { known: second }), third);
  assertEquals(
    await use("core", { known: { fingerprint: "of a token that is gone" } }),
    third,
  );
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

Deno.test("a secondary limit stops a token for the whole API", async () => {
  const { clock, first, note, pool, use, waitSeconds } = await open(1);
  pool.limit(first, 30_000, "api");
  pool.limit(first, 10_000, "api");
  note(first, 4000);
  assertEquals([await waitSeconds("core"), await waitSeconds("graphql")], [
    30,
    30,
  ]);
  clock.advance(30_000);
  assertEquals([await use("core"), await use("graphql")], [first, first]);
});

Deno.test("TokenPool limits what waits for a probe with it", async () => {
  const { clock, first, pool, waitSeconds } = await open(1);
  pool.limit(first, 30_000, "core");
  clock.advance(30_000);
  await pool.choose("core", CHECK);
  const limited = [waitSeconds(), waitSeconds()];
  pool.limit(first, 60_000, "core");
  pool.release(first, "core", false);
  assertEquals(await Promise.all(limited), [60, 60]);
});

Deno.test("TokenPool doubles the wait after each secondary limit", async () => {
  const { clock, first, logged, pool, use, waitSeconds } = await open(1);
  const waits = [[60, 60], [60, 120], [17, 240], [60, 480], [60, 900], [
    60,
    900,
  ], [3600, 3600]];
  for (const [stated, seconds] of waits) {
    pool.limit(first, stated! * 1000, "api");
    // What was under way then met the same limit.
    pool.limit(first, 10_000, "api");
    assertEquals(await waitSeconds("graphql"), seconds);
    clock.advance(seconds! * 1000);
    assertEquals(await use(), first);
    clock.advance(60_000);
  }
  assertEquals(logged.length, waits.length);
  clock.advance(840_000);
  pool.limit(first, 60_000, "api");
  assertEquals(await waitSeconds("graphql"), 60);
});

/** How many requests a token takes now. */
async function takeAll(pool: TokenPool, isBulk: boolean): Promise<number> {
  const left = new AbortController();
  const context = { ...uncharged, signal: left.signal };
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
  for (const [share, isolates] of [[1, 1], [1 / 2, 2], [1 / 64, 64]] as const) {
    const clock = new TestClock();
    const pool = new TokenPool(tokenList(["t1"]), {
      clock,
      log: silentLog,
      isolates: () => isolates,
    });
    clock.advance(3_600_000);
    const bulk = await takeAll(pool, true);
    assert(bulk > 350 * share && bulk < 400 * share + 1, `${bulk} of ${share}`);
    let perMinute = bulk + await takeAll(pool, false);
    assert(
      perMinute > bulk || share < 1 / 2,
      "checks do not wait behind bulk reads",
    );
    for (let second = 0; second < 60; second++) {
      clock.advance(1_000);
      perMinute += await takeAll(pool, second % 2 === 0);
    }
    assert(perMinute * isolates <= 900, `${perMinute} a minute`);
    assert(perMinute * isolates > 800, `${perMinute} a minute`);
  }
});

Deno.test("TokenPool uses the next token if one is at its pace", async () => {
  const { clock, first, pool, second } = await open(2, { anonymous: true });
  clock.advance(60_000);
  const [one, both] = [await takeAll(pool, true), new Set<Token>()];
  for (let n = 0; n < 60; n++) both.add(await pool.choose("core", CHECK));
  assertEquals([one > 700, one < 800, both], [
    true,
    true,
    new Set([first, second]),
  ]);
  const large = {
    "x-ratelimit-limit": "100000",
    "x-ratelimit-remaining": "100000",
  };
  pool.note(
    first,
    "core",
    new Headers({ ...large, "x-ratelimit-reset": "9999999999" }),
  );
  clock.advance(60_000);
  for (let n = 0; n < 2_000; n++) {
    assertEquals(await pool.choose("core", CHECK), first);
  }
});

Deno.test("TokenPool fingerprints reveal no token", async () => {
  const prints = ({ first, second }: { first: Token; second: Token }) =>
    [first, second].map(({ fingerprint }) => fingerprint);
  const [one, other] = prints(await open(2));
  assertEquals(prints(await open(2)), [one, other]);
  assert(one !== other && !one!.includes("secret"));
  assertEquals(
    (await (await open(0, { anonymous: true })).use()).fingerprint,
    "none",
  );
});
