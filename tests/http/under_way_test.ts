// Requests under way: bounded for each client, over HTTP/1.1 and HTTP/2, cached
// or not; and responses over 64 KiB, which are sent in pieces as they are read.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { UnderWay } from "../../lib/http/under_way.ts";
import { randomBytes } from "../cache/watched_kv.ts";
import { itemPath, listPath, type TestService } from "../service.ts";
import { startSite } from "../site.ts";
import { gzipReady } from "./freshness_of.ts";
import { onTurns, useTicks } from "../work/time_slices.ts";
import { openStreams } from "./h2_streams.ts";

const CLIENT = "127.0.0.1";
const KIB = 1 << 10;

/** What tells when a response was sent. */
function infoOf() {
  const { promise: completed, resolve, reject } = Promise.withResolvers<void>();
  return { completed, resolve, reject };
}

Deno.test("UnderWay refuses a client past 1,000 until some end", async () => {
  const underWay = new UnderWay();
  const infos = Array.from({ length: 1_000 }, infoOf);
  for (const info of infos) underWay.add("a", info);
  const error = assertThrows(
    () => underWay.add("a", infoOf()),
    CollectionsError,
  );
  assertEquals([error.code, error.facts.retryAfterSeconds], [
    "too-many-requests",
    1,
  ]);
  underWay.add("b", infoOf());

  infos[0]!.resolve();
  infos[1]!.reject(new Error("disconnected"));
  await Promise.allSettled([infos[0]!.completed, infos[1]!.completed]);
  assertEquals([underWay.countOf("a"), underWay.countOf("b")], [998, 1]);
  underWay.add("a", infoOf());
});

Deno.test("UnderWay delays a client past 32, by a request a ms", async () => {
  const underWay = new UnderWay();
  const delays = async (count: number, nowMs: number, client = "a") => {
    const waits: number[] = [];
    for (let sent = 0; sent < count; sent++) {
      let waitMs = 0;
      const sleep = async (ms: number) => void (waitMs = await ms);
      const clock = { monotonicMs: () => nowMs, sleep };
      await underWay.turnOf({ client, signal: undefined }, clock);
      waits.push(waitMs);
    }
    return waits;
  };
  assertEquals(await delays(32, 1_000), Array(32).fill(0));
  assertEquals(await delays(3, 1_000), [1, 2, 3]);
  assertEquals(await delays(1, 1_000, "b"), [0]);
  // Ten more may start after ten ms, of which three have.
  assertEquals(await delays(9, 1_010), [0, 0, 0, 0, 0, 0, 0, 1, 2]);
  assertEquals(await delays(33, 2_000), [...Array(32).fill(0), 1]);
  // However many have left, it is as many as may be under way.
  assertEquals(Math.max(...await delays(1_100, 3_000)), 1_000 - 31);
});

/** A request that starts in its turn and then takes a ms. */
function startsInTurn(underWay: UnderWay, ticks: ReturnType<typeof useTicks>) {
  const clock = {
    monotonicMs: () => 0,
    sleep: () => Promise.reject(new Error("no request sleeps")),
  };
  return async (client: string, events: string[], signal?: AbortSignal) => {
    underWay.add(client, infoOf());
    await underWay.turnOf({ client, signal }, clock);
    ticks.pass(1);
    events.push(client);
  };
}

Deno.test("UnderWay starts the requests of a client one by one", async () => {
  using ticks = useTicks();
  const events: string[] = [];
  const send = startsInTurn(new UnderWay(), ticks);
  using _others = onTurns(() => events.at(-1) !== "-" && events.push("-"));
  const others = ["b", "b", "c"];
  const clients = [...Array(29).fill("a"), ...others];
  await Promise.all(clients.map((client) => send(client, events)));
  const turns = events.join("").split("-");
  // The first request of each client starts at once.
  assertEquals(turns[0]?.slice(0, 3), "abc");
  assert(turns.every((turn) => turn.length <= 4), turns.join());
  // What others do waits for one request of a client and not for all.
  assert(events.lastIndexOf("b") < events.indexOf("a", 8), events.join(""));
});

Deno.test("UnderWay passes on the turn of a request that has left", async () => {
  using ticks = useTicks();
  const events: string[] = [];
  const send = startsInTurn(new UnderWay(), ticks);
  const leaving = new AbortController();
  const { signal } = leaving;
  const signals = [undefined, signal, signal, undefined];
  const sent = signals.map((signal) => send("a", events, signal));
  leaving.abort(new Error("left"));
  const results = await Promise.allSettled(sent);
  assertEquals(results.map(({ status }) => status), [
    "fulfilled",
    "rejected",
    "rejected",
    "fulfilled",
  ]);
  await send("a", events);
  assertEquals(events.length, 3);
});

Deno.test("only requests that are not cached wait for their turn", async () => {
  await using site = await startSite({ "posts/a.md": "" }, {
    env: { GITHUB_WEBHOOK_SECRET: "secret" },
  });
  const { service } = site;
  await service.list();
  const waits: number[] = [];
  service.clock.sleep = (ms) => {
    waits.push(ms);
    return Promise.resolve();
  };
  const sendAll = (path: string, method: string) =>
    Promise.all(Array.from({ length: 40 }, async () => {
      const response = await service.send(path, { method });
      await response.body?.cancel();
    }));
  await sendAll(listPath(), "GET");
  assertEquals(waits, []);
  await sendAll("/problems/source-failed", "GET");
  // The list was the first.
  assertEquals(waits, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  await sendAll("/problems/source-failed", "POST");
  assertEquals(waits.length, 49);
  const webhook = "/api/webhooks/github";
  await sendAll(webhook, "POST");
  assertEquals(waits.length, 49);
  // GitHub would not send a delivery to a long address.
  await sendAll(`${webhook}?${"a".repeat(2_000)}`, "POST");
  assertEquals(waits.length, 89);
});

Deno.test("a request that waits for its turn counts until it leaves", async () => {
  await using site = await startSite({});
  const { service } = site;
  const leaving = new AbortController();
  const waiting = Promise.withResolvers<void>();
  service.clock.sleep = (_ms, signal) =>
    new Promise((_, reject) => {
      signal!.addEventListener("abort", () => reject(signal!.reason));
      waiting.resolve();
    });
  const url = `http://${CLIENT}:${service.listen()}/problems/source-failed`;
  const responses = Array.from(
    { length: 33 },
    () => fetch(url, { signal: leaving.signal }).then((r) => r.text()),
  );
  await waiting.promise;
  await untilCount(service, 1);
  leaving.abort();
  await Promise.allSettled(responses);
  await untilCount(service, 0);
});

Deno.test("UnderWay does not ask a refused request when it was sent", () => {
  const underWay = new UnderWay();
  for (let n = 0; n < 1_000; n++) underWay.add("a", infoOf());
  const info = {
    get completed(): Promise<void> {
      throw new Error(
        "A promise that nobody waits for ends the process when it rejects",
      );
    },
  };
  assertThrows(() => underWay.add("a", info), CollectionsError);
});

Deno.test("UnderWay counts one hit of 64 for all, then each", () => {
  let chance = 0.999;
  const underWay = new UnderWay(() => chance);
  const weightOf = (client: string) => underWay.weightOfHit(() => client);
  assertEquals([
    weightOf("a"),
    underWay.weightOfHit(() => assert(false) as never),
  ], [0, 0]);
  chance = 0;
  assertEquals(weightOf("a"), 64);

  for (let n = 0; n < 8; n++) underWay.add("a", infoOf(), 64);
  assertEquals([weightOf("a"), weightOf("b")], [1, 64]);
  chance = 0.999;
  assertEquals([weightOf("a"), weightOf("b")], [1, 0]);
});

/** Waits until a client has so many under way. */
async function untilCount(
  { services }: TestService,
  count: number,
): Promise<void> {
  while (services.underWay.countOf(CLIENT) !== count) {
    await new Promise((r) => setTimeout(r, 5));
  }
}

for (
  const [what, path] of [["cached", listPath()], [
    "other",
    "/problems/source-failed",
  ]] as const
) {
  Deno.test(`1,000 unread HTTP/2 requests are under way, of ${what}`, async () => {
    let hits = 0;
    await using site = await startSite({ "posts/a.md": "" }, {
      env: { MISSES_PER_MINUTE: "0" },
      // Every 64th by chance.
      change: (services) =>
        Object.assign(services, {
          underWay: new UnderWay(() => (hits++ % 64 === 63 ? 0 : 0.5)),
        }),
    });
    const { service } = site;
    const url = `http://${CLIENT}:${service.listen()}`;
    const statusOf = async () => {
      const response = await fetch(url + path);
      await response.body?.cancel();
      return response.status;
    };
    assertEquals(await statusOf(), 200);
    await untilCount(service, 0);

    const streams = await openStreams(Number(new URL(url).port), path, 1_200);
    await untilCount(service, 1_000);
    assertEquals(await statusOf(), 429);

    streams[Symbol.dispose]();
    await untilCount(service, 0);
    assertEquals(await statusOf(), 200);
    await untilCount(service, 0);
  });
}

Deno.test("unread HTTP/1.1 responses count until their end", async () => {
  await using site = await startSite({ "large.txt": "x".repeat(8 << 20) });
  const { service } = site;
  const port = service.listen();
  const connections: Deno.TcpConn[] = [];
  for (let n = 0; n < 10; n++) {
    const connection = await Deno.connect({ hostname: CLIENT, port });
    connections.push(connection);
    const path = itemPath({ path: "large.txt", format: "raw" });
    const request = `GET ${path} HTTP/1.1\r\nHost: ${CLIENT}:${port}\r\n\r\n`;
    await connection.write(new TextEncoder().encode(request));
  }
  await untilCount(service, 10);
  for (const connection of connections) connection.close();
  await untilCount(service, 0);
});

/** Some 100 KiB, ASCII or not, that gzip makes no smaller than 64 KiB. */
const NOISE = randomBytes(90 * KIB).toBase64();

Deno.test("every response over 64 KiB is sent in pieces", async () => {
  await using site = await startSite({
    "posts/ascii.md": NOISE,
    "posts/other.md": `ü${NOISE}`,
  }, {
    env: { PUBLIC_URL: `https://${"a".repeat(60)}.test/${"b".repeat(6_000)}` },
  });
  const { service } = site;
  const ascii = itemPath({ path: "posts/ascii.md" });
  const rows: [path: string, headers?: Record<string, string>][] = [
    [ascii, { "accept-encoding": "gzip" }],
    [ascii],
    [itemPath({ path: "posts/other.md" })],
    [itemPath({ path: "posts/other.md", format: "raw" })],
    [listPath({ includeContent: true })],
    ["/api/openapi.json"],
    ["/vendor/dompurify.js"],
  ];
  await (await service.send(ascii)).body!.cancel();
  await gzipReady(service, ascii);
  for (const [path, headers = {}] of rows) {
    for (const turn of ["first", "again"]) {
      const response = await service.send(path, { headers });
      const length = Number(response.headers.get("content-length"));
      assertEquals(
        response.headers.get("content-encoding"),
        headers["accept-encoding"] ?? null,
      );
      assert(length > 64 * KIB, `${path} has ${length}`);
      const reader = response.body!.getReader();
      const { value } = await reader.read();
      assertEquals([path, turn, value?.length], [path, turn, 64 * KIB]);
      service.clock.advance(20_000);
      assertEquals([path, turn, (await reader.read()).done], [
        path,
        turn,
        true,
      ]);
    }
  }
});

Deno.test("a large cached response is sent ahead of the framework", async () => {
  await using site = await startSite({ "posts/a.md": NOISE });
  const { service } = site;
  const path = itemPath({ path: "posts/a.md" });
  const first = await (await service.send(path)).text();
  Object.assign(service.services, {
    sourceOf() {
      throw new Error("the source was asked");
    },
  });
  const again = await service.send(path);
  assertEquals([again.status, await again.text()], [200, first]);
});
