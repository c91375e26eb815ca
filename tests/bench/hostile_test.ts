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

function problem(code: string, status: number) {
  const headers = { ...CONTRACT, "content-type": "application/problem+json" };
  return Response.json({ code, status }, { status, headers });
}

/** The text below a heading of SECURITY.md. */
async function sectionOf(heading: string): Promise<string> {
  const text = await Deno.readTextFile(join(root, "SECURITY.md"));
  const [, section = ""] = text.split(`### ${heading}\n`);
  return section.split(/\n#/)[0]!;
}

Deno.test("ROWS are those that SECURITY.md names", async () => {
  const names = ROWS.map(({ name }) => name);
  assert(names.length >= 40);
  assertEquals(new Set(names).size, names.length);
  const attacks = (await sectionOf("What attacks it")).matchAll(
    /^\| (?<what>[^|]+?) +\|[^|]*\|(?<rows>.*)\|$/gm,
  ).toArray().slice(2);
  const named = attacks.flatMap(({ groups }) =>
    groups!.rows!.split(", ").map((row) => row.replaceAll(/[ `]/g, ""))
  );
  // `yaml-*` stands for every row whose name begins so.
  const isFor = (named: string, name: string) =>
    named.endsWith("-*") ? name.startsWith(named.slice(0, -1)) : name === named;
  for (const name of names) {
    assert(named.some((one) => isFor(one, name)), name);
  }
  for (const one of named) {
    assert(names.some((name) => isFor(one, name)), one);
  }
  const attacked = attacks.map(({ groups }) => groups!.what);
  const section = await sectionOf("What may be used up");
  const terms = section.matchAll(/^- \*\*(.+?)\*\*/gm).toArray();
  assert(terms.length > 0 && attacked.length >= 6);
  for (const [, term] of terms) assert(attacked.includes(term), term);
});

Deno.test("siteOf() names a row's own repository", () => {
  const attack = async () => {};
  const row = { name: "a", attacker: "author", attack } as const;
  const local = siteOf({ ...row, folder: () => [] });
  assertEquals(
    local.list({ limit: 5, collection: "b c" }),
    "/api/list-collection-items?owner=local&repo=a&limit=5&collection=b+c",
  );
  assertEquals(
    siteOf(row).item([["path", "a"], ["path", "b"]]),
    "/api/get-item-content?owner=octo&repo=ordinary&path=a&path=b",
  );
});

const ANSWERS: readonly {
  response: () => Response;
  wrong: RegExp | null;
  target?: string;
}[] = [
  {
    response: () => Response.json({ items: [] }, { headers: CONTRACT }),
    wrong: null,
  },
  { response: () => problem("service-busy", 503), wrong: null },
  {
    response: () => problem("internal-error", 500),
    wrong: /^500 internal-error is no problem/,
  },
  {
    response: () => problem("service-busy", 500),
    wrong: /^500 service-busy is no problem/,
  },
  {
    response: () => new Response("", { status: 500, headers: CONTRACT }),
    wrong: /^500 is no problem/,
  },
  {
    response: () => new Response("", { status: 206, headers: CONTRACT }),
    wrong: /^206 is no status/,
  },
  { response: () => Response.json({}), wrong: /without CORS/ },
  {
    response: () =>
      Response.json({}, { headers: { "access-control-allow-origin": "*" } }),
    wrong: /without an id/,
  },
  {
    response: () =>
      new Response("{", {
        headers: { ...CONTRACT, "content-type": "application/json" },
      }),
    wrong: /no JSON/,
  },
  // Deno's own answer to a head that is too long.
  {
    response: () => new Response(null, { status: 400 }),
    wrong: null,
    target: `/?${"a".repeat(60_000)}`,
  },
  {
    response: () => new Response(null, { status: 400 }),
    wrong: /without CORS/,
  },
];

Deno.test("problemWith() refuses what the contract does not have", async () => {
  for (const { response, wrong, target = "/" } of ANSWERS) {
    const found = problemWith(await answerOf(response), { target });
    if (wrong === null) assertEquals(found, null);
    else assertMatch(found ?? "", wrong);
  }
});

Deno.test("sendHttp1() counts a long body and notices a cut", async () => {
  const long = await answerOf(() => new Response("x".repeat(3_000_000)));
  assertEquals([long.length, long.isWhole], [3_000_000, true]);
  assert(long.start.length < 2_000_000);
  const cut = await answerOf(() =>
    new Response(
      new ReadableStream({
        start(body) {
          body.enqueue(new TextEncoder().encode("ab"));
          body.close();
        },
      }),
      { headers: { "content-length": "9" } },
    )
  );
  assertEquals(classOf(cut), "200, cut off");
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

Deno.test("Attacker.bystander() notes what a client gets in time", async () => {
  const good = await bystanderOf(() =>
    Response.json({}, { headers: CONTRACT })
  );
  assertEquals(good.failures, []);
  assertMatch(good.notes.join(), /^a list: 200 after \d+ ms$/);
  const bad = await bystanderOf(() => problem("service-busy", 503));
  assertMatch(
    bad.failures.join(),
    /^a list: 503 service-busy after \d+ ms, wanted within 300 ms$/,
  );
});

Deno.test("betterOf() takes the least wait and every fault", () => {
  const [first, second] = [80, 20].map((longestMs, n): RowResult => ({
    row: ROWS[0]!,
    polls: { count: 1, longestMs, slow: 0, lateMs: 0, failures: 0 },
    peakMb: 100 - n,
    sourceRequests: n,
    tally: { ...newTally(), wrong: [`wrong ${n}`] },
    end: n === 0 ? "the process ended" : null,
    earlierMs: [],
  }));
  for (const better of [betterOf(first!, second!), betterOf(second!, first!)]) {
    assertEquals([better.polls.longestMs, better.earlierMs], [20, [80]]);
    assertEquals([better.end, better.peakMb], ["the process ended", 100]);
    assertEquals(better.tally.wrong.toSorted(), ["wrong 0", "wrong 1"]);
  }
});

Deno.test("the bench:hostile task measures a row", async () => {
  const options =
    "--rows constructor --seconds 0 --requests 0 --after 0 --yardstick 0 --tries 1";
  const { stdout, stderr } = await runTask("bench:hostile", {
    args: options.split(" "),
  });
  const row =
    /^\| `constructor` \| author \| \**([\d.,]+)\** \| [\d.,]+ \| (\d+) \| 0 \| (.*) \|$/m
      .exec(stdout);
  assert(row !== null, stdout + stderr);
  const [, longestMs, peakMb, answers] = row;
  assert(parseFloat(longestMs!) >= 0.1);
  assert(Number(peakMb) >= 20);
  // What came back differs with the service; six requests were sent.
  const counts = answers!.matchAll(/(\d+) (?:×|others)/g);
  assertEquals(counts.reduce((sum, [, count]) => sum + Number(count), 0), 6);
});
