import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import {
  Attacker,
  classOf,
  newTally,
  problemWith,
} from "../../bench/hostile/attacker.ts";
import { ROWS } from "../../bench/hostile/corpus.ts";
import { HealthPoller } from "../../bench/hostile/health.ts";
import { sendHttp1 } from "../../bench/hostile/http1.ts";
import { Http2Connection } from "../../bench/hostile/http2.ts";
import { siteOf } from "../../bench/hostile/row.ts";
import { betterOf, type RowResult } from "../../bench/hostile/rows_phase.ts";
import { runTask } from "../run_task.ts";
import { root } from "../source_files.ts";

const never = new AbortController().signal;
const CONTRACT = { "access-control-allow-origin": "*", "x-request-id": "a-1" };

function serve(handler: (request: Request) => Response | Promise<Response>) {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, handler);
}

/** An answer of the service as an attacker gets it. */
async function answerOf(response: () => Response) {
  await using server = serve(response);
  return await sendHttp1(server.addr.port, { target: "/" }, never);
}

function problem(
  code: string,
  status: number,
  headers: Record<string, string> = CONTRACT,
) {
  const type = { "content-type": "application/problem+json" };
  return new Response(JSON.stringify({ code, status }), {
    status,
    headers: { ...headers, ...type },
  });
}

/**
 * The rows that SECURITY.md names, by what they attack: the cells of its table
 * of attacks.
 */
async function rowsInSecurity() {
  const text = await Deno.readTextFile(join(root, "SECURITY.md"));
  const [, section = ""] = text.split("### What attacks it\n");
  const lines = section.split(/\n#/)[0]!.split("\n").filter((line) =>
    line.startsWith("| ")
  );
  const cells = lines.slice(2).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );
  return {
    text,
    attacks: cells.map(([what, , rows]) => ({ what: what!, rows: rows! })),
  };
}

Deno.test("ROWS have distinct names and attackers of each kind", () => {
  assert(ROWS.length >= 40);
  assertEquals(new Set(ROWS.map(({ name }) => name)).size, ROWS.length);
  for (const { name } of ROWS) assertMatch(name, /^[a-z0-9]+(-[a-z0-9]+)*$/);
  const kinds = ["anybody", "author", "broken source"];
  assertEquals(
    [...new Set(ROWS.map(({ attacker }) => attacker))].sort(),
    kinds,
  );
});

Deno.test("ROWS are those that SECURITY.md names", async () => {
  const { attacks } = await rowsInSecurity();
  const named = attacks.flatMap(({ rows }) =>
    rows.matchAll(/`([^`]+)`/g).map(([, name]) => name!).toArray()
  );
  // `yaml-*` stands for every row whose name begins so.
  const isNamed = (name: string) =>
    named.some((one) =>
      one.endsWith("-*") ? name.startsWith(one.slice(0, -1)) : one === name
    );
  assertEquals(
    ROWS.filter(({ name }) => !isNamed(name)).map(({ name }) => name),
    [],
  );
  const hasRow = (one: string) =>
    ROWS.some(({ name }) =>
      one.endsWith("-*") ? name.startsWith(one.slice(0, -1)) : one === name
    );
  assertEquals(named.filter((one) => !hasRow(one)), []);
});

Deno.test("SECURITY.md has rows for whatever may be used up", async () => {
  const { text, attacks } = await rowsInSecurity();
  const [, section = ""] = text.split("### What may be used up\n");
  const terms = section.split(/\n#/)[0]!.matchAll(/^- \*\*(.+?)\*\*/gm).map((
    [, term],
  ) => term!);
  const attacked = attacks.map(({ what }) => what);
  assertEquals(terms.toArray().filter((term) => !attacked.includes(term)), []);
  assert(attacked.length >= 6);
});

Deno.test("siteOf() names a row's own repository", () => {
  const attack = async () => {};
  const local = siteOf({
    name: "a",
    attacker: "author",
    folder: () => [],
    attack,
  });
  assertEquals(
    local.list({ limit: 5, collection: "b c" }),
    "/api/list-collection-items?owner=local&repo=a&limit=5&collection=b+c",
  );
  const ordinary = siteOf({ name: "b", attacker: "anybody", attack });
  assertEquals(
    ordinary.item([["path", "a"], ["path", "b"]]),
    "/api/get-item-content?owner=octo&repo=ordinary&path=a&path=b",
  );
});

Deno.test("problemWith() refuses what the contract does not have", async () => {
  const bare = { headers: {} };
  const cases: [response: () => Response, wrong: RegExp | null][] = [
    [() => Response.json({ items: [] }, { headers: CONTRACT }), null],
    [() => problem("service-busy", 503), null],
    [() => problem("internal-error", 500), /^500 internal-error is no problem/],
    [() => problem("service-busy", 500), /^500 service-busy is no problem/],
    [
      () => new Response("", { status: 500, headers: CONTRACT }),
      /^500 is no problem/,
    ],
    [
      () => new Response("", { status: 206, headers: CONTRACT }),
      /^206 is no status/,
    ],
    [() => Response.json({}, bare), /without CORS/],
    [
      () =>
        Response.json({}, { headers: { "access-control-allow-origin": "*" } }),
      /without an id/,
    ],
    [
      () =>
        new Response("{", {
          headers: { ...CONTRACT, "content-type": "application/json" },
        }),
      /no JSON/,
    ],
  ];
  for (const [response, wrong] of cases) {
    const found = problemWith(await answerOf(response), { target: "/" });
    if (wrong === null) assertEquals(found, null);
    else assertMatch(found ?? "", wrong);
  }
});

Deno.test("problemWith() allows a bare 400 for a long head only", async () => {
  const answer = await answerOf(() => new Response(null, { status: 400 }));
  assertEquals(
    problemWith(answer, { target: `/?${"a".repeat(60_000)}` }),
    null,
  );
  assertMatch(problemWith(answer, { target: "/" }) ?? "", /without CORS/);
});

Deno.test("sendHttp1() counts a long body and notices a cut", async () => {
  const long = await answerOf(() => new Response("x".repeat(3_000_000)));
  assertEquals([long.length, long.isWhole, long.start.length < 2_000_000], [
    3_000_000,
    true,
    true,
  ]);
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const answered = sendHttp1(listener.addr.port, { target: "/" }, never);
  const connection = await listener.accept();
  await connection.read(new Uint8Array(1_000));
  await connection.write(
    new TextEncoder().encode("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"),
  );
  connection.close();
  assertEquals(classOf(await answered), "200, cut off");
});

Deno.test("Http2Connection gives the status of answers it holds up", async () => {
  await using server = serve((request) => {
    const status = Number(new URL(request.url).pathname.slice(1));
    assertEquals(request.headers.get("x-forwarded-for"), "10.0.0.1");
    return new Response("x".repeat(100_000), { status });
  });
  using connection = await Http2Connection.open(server.addr.port, 0, never);
  const statuses = ["200", "200", "404", "429", "503", "503"];
  const answers: string[] = [];
  for (const status of statuses) {
    const path = `/${status}?${"a".repeat(300)}`;
    const { answer } = await connection.request(path, {
      "x-forwarded-for": "10.0.0.1",
    });
    answers.push(await answer);
  }
  assertEquals(answers, statuses);
});

Deno.test("HealthPoller counts late and missing answers", async () => {
  const held = Promise.withResolvers<void>();
  let polls = 0;
  await using server = serve(async () => {
    polls++;
    if (polls === 3) await new Promise((next) => setTimeout(next, 100));
    if (polls === 6) await held.promise;
    return Response.json({});
  });
  using poller = new HealthPoller();
  await poller.start(server.addr.port);
  while (polls < 6) await new Promise((next) => setTimeout(next, 5));
  let waitingMs = 0;
  while (waitingMs < 150) waitingMs = await poller.waitingMs();
  const { count, longestMs, slow } = await poller.stop();
  held.resolve();
  assertEquals(count, 5);
  assert(longestMs >= waitingMs);
  assert(slow >= 2);
});

/** What another client gets of a server, within 300 ms. */
async function bystanderOf(handler: () => Response) {
  await using server = serve(handler);
  const tally = newTally();
  const options = {
    port: server.addr.port,
    network: "10.0.0",
    signal: never,
    tally,
  };
  await new Attacker(options).bystander("a list", "/", { withinMs: 300 });
  return tally;
}

Deno.test("Attacker.bystander() fails for a client that gets nothing", async () => {
  const { failures, answers } = await bystanderOf(() =>
    problem("service-busy", 503)
  );
  assertMatch(
    failures.join(),
    /^a list: 503 service-busy after \d+ ms, wanted within 300 ms$/,
  );
  assertEquals(answers, {});
});

Deno.test("Attacker.bystander() notes what a client gets in time", async () => {
  const { failures, notes } = await bystanderOf(() =>
    Response.json({}, { headers: CONTRACT })
  );
  assertEquals(failures, []);
  assertMatch(notes.join(), /^a list: 200 after \d+ ms$/);
});

Deno.test("betterOf() takes the least wait and every fault", () => {
  const [first, second] = [80, 20].map((longestMs, n): RowResult => ({
    row: ROWS[0]!,
    polls: { count: 1, longestMs, slow: 0, lateMs: 0, failures: 0 },
    peakMb: 100 - n,
    sourceRequests: n,
    tally: { ...newTally(), answers: { [`20${n}`]: 1 }, wrong: [`wrong ${n}`] },
    end: n === 0 ? "the process ended" : null,
    earlierMs: [],
  }));
  for (const better of [betterOf(first!, second!), betterOf(second!, first!)]) {
    assertEquals([better.polls.longestMs, better.earlierMs], [20, [80]]);
    assertEquals([better.end, better.peakMb], ["the process ended", 100]);
    assertEquals(better.tally.answers, { "201": 1 });
    assertEquals(better.tally.wrong.toSorted(), ["wrong 0", "wrong 1"]);
  }
});

Deno.test("the bench:hostile task measures a row", async () => {
  const none = [
    "--seconds",
    "0",
    "--requests",
    "0",
    "--after",
    "0",
    "--yardstick",
    "0",
    "--tries",
    "1",
  ];
  const { stdout, stderr } = await runTask("bench:hostile", {
    args: ["--rows", "constructor", ...none],
  });
  const row =
    /^\| `constructor` \| author \| \**([\d.,]+)\** \| [\d.,]+ \| (\d+) \| 0 \| (.*) \|$/m
      .exec(stdout);
  assert(row !== null, stdout + stderr);
  const [, longestMs, peakMb, answers] = row;
  assert(parseFloat(longestMs!) >= 0.1);
  assert(Number(peakMb) >= 20);
  // What came back differs with the service; six requests were sent.
  const counts = answers!.matchAll(/(\d+) (?:×|others)/g).map(([, count]) =>
    Number(count)
  );
  assertEquals(counts.reduce((sum, count) => sum + count, 0), 6);
});
