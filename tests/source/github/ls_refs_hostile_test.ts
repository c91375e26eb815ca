// Answers of a broken or hostile host. No answer makes the query throw, hang or read on.

import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { CollectionsError, serviceBusy } from "../../../lib/errors.ts";
import { type GitFetch, lsRefs, type LsRefsResult } from "../../../lib/source/github/ls_refs.ts";
import { encodePktLines, FLUSH } from "../../../lib/source/github/pkt_line.ts";

const TYPE = "application/x-git-upload-pack-result";
const ID = "1234567890abcdef1234567890abcdef12345678";
const OTHER = "f".repeat(40);
const NOW = Date.UTC(2026, 0, 1);
const HEAD = `${OTHER} HEAD symref-target:refs/heads/main`;
const encoder = new TextEncoder();

function ask(
  gitFetch: GitFetch,
  options: { ref?: string; gitUrl?: string; signal?: AbortSignal } = {},
): Promise<LsRefsResult> {
  const { ref = "main", gitUrl = "http://git.test", signal = new AbortController().signal } =
    options;
  return lsRefs({ owner: "octo", repo: "site", ref }, {
    gitUrl,
    fetch: gitFetch,
    signal,
    now: () => NOW,
  });
}

/** A response whose body is watched: `left` is whether its reader went before its end. */
function watched(chunks: Iterable<Uint8Array>, init: ResponseInit = {}) {
  const state = { pulls: 0, left: false, response: new Response() };
  const iterator = chunks[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = iterator.next();
      state.pulls++;
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel() {
      state.left = true;
    },
  }, { highWaterMark: 0 });
  state.response = new Response(body, { headers: { "content-type": TYPE }, ...init });
  return state;
}

function* forever<T>(make: (n: number) => T): Generator<T, void> {
  for (let n = 0;; n++) yield make(n);
}

/** A number as text that sorts as the number does. */
const ordered = (n: number) => String(n).padStart(9, "0");

/** Answers every connection with these bytes and hangs up. */
function serveBytes(bytes: Uint8Array) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const served = (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(4096));
      await connection.write(bytes);
      connection.close();
    }
  })();
  return {
    url: `http://127.0.0.1:${listener.addr.port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
      await served;
    },
  };
}

const http = (head: string, body: string | Uint8Array) => {
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  return new Uint8Array([
    ...encoder.encode(`HTTP/1.1 200 OK\r\ncontent-type: ${TYPE}\r\n${head}\r\n\r\n`),
    ...bytes,
  ]);
};
const ref = (name: string, id = ID) => new TextDecoder().decode(encodePktLines([`${id} ${name}`]));
const good = ref("refs/heads/main");

const unusable: Record<string, Uint8Array> = {
  "nothing at all": new Uint8Array(0),
  "no HTTP": encoder.encode("PACK\0\0\0\x02"),
  "an empty body": http("content-length: 0", ""),
  "a body without a flush": http("content-length: 65", ref("refs/heads/a") + "00"),
  "a body shorter than announced": http("content-length: 5000", good.slice(0, -1)),
  "a chunk that is cut off": http("transfer-encoding: chunked", "ff\r\n" + good.slice(0, 20)),
  "a chunk's length that is none": http("transfer-encoding: chunked", "zz\r\n" + good),
  "a line cut off by a flush": http("connection: close", good.slice(0, 30) + "0000"),
  "a length of 0002": http("connection: close", "0002" + good),
  "a length of 0003": http("connection: close", "0003" + good),
  "an empty line": http("connection: close", "0004" + good),
  "a delimiter": http("connection: close", "0001" + good),
  "a length over the limit": http("connection: close", "ffff" + "a".repeat(65_531)),
  "a huge line of one name": http(
    "connection: close",
    "fff0" + `${ID} refs/heads/`.padEnd(65_516, "a"),
  ),
  "a length that is not hex": http("connection: close", "00zz" + good),
  "NULs": http("connection: close", "\0".repeat(1000)),
  "NULs in a name": http("connection: close", ref("refs/heads/ma\0in")),
  "the first version's advertisement": http("connection: close", ref("refs/heads/main\0multi_ack")),
  "an error line": http("connection: close", "000eERR no way"),
  "an id of 39 digits": http("connection: close", ref("refs/heads/main", ID.slice(1))),
  "an id of SHA-256": http("connection: close", ref("refs/heads/main", ID.padEnd(64, "0"))),
  "an id in capitals": http("connection: close", ref("refs/heads/main", ID.toUpperCase())),
  "an attribute that was not asked for": http("connection: close", ref("refs/heads/main peels:x")),
  "two ids": http("connection: close", ref(`refs/heads/main peeled:${ID} peeled:${ID}`)),
  "an unborn branch": http("connection: close", ref("refs/heads/main", "unborn")),
  "a ref twice": http("connection: close", ref("refs/heads/a") + ref("refs/heads/a") + good),
  "refs out of order": http("connection: close", ref("refs/heads/b") + ref("refs/heads/a") + good),
  "gzip that is none": http("content-encoding: gzip\r\nconnection: close", good),
};

for (const [what, bytes] of Object.entries(unusable)) {
  Deno.test(`lsRefs() cannot use ${what}`, async () => {
    await using server = serveBytes(bytes);
    const result = await ask(fetch, { gitUrl: server.url });
    assertEquals(result.kind, "unusable");
  });
}

Deno.test("lsRefs() can use the answer that those above are spoilt from", async () => {
  await using server = serveBytes(http("connection: close", good + "0000"));
  const result = await ask(fetch, { gitUrl: server.url });
  assert(result.kind === "found" && result.commit === ID);
});

Deno.test("lsRefs() reads at most 4 MiB of what a small gzip body becomes", async () => {
  const line = (n: number) => ref(`refs/heads/${ordered(n)}${"a".repeat(60_000)}`);
  const text = Array.from({ length: 500 }, (_, n) => line(n)).join("") + good;
  const gzip = await new Response(
    new Response(text).body!.pipeThrough(new CompressionStream("gzip")),
  ).bytes();
  assert(gzip.length < 100_000);
  const head = `content-encoding: gzip\r\ncontent-length: ${gzip.length}`;
  await using server = serveBytes(http(head, gzip));
  const result = await ask(fetch, { gitUrl: server.url });
  assert(result.kind === "unusable" && result.reason.includes("4194304"), JSON.stringify(result));
});

Deno.test("lsRefs() leaves an answer without end at 4 MiB", async () => {
  const body = watched(forever((n) => encodePktLines([`${ID} refs/heads/${ordered(n)}`])));
  const result = await ask(() => Promise.resolve(body.response));
  assert(result.kind === "unusable" && result.reason.includes("4194304"));
  assert(body.left && body.pulls < 66_000);
});

Deno.test("lsRefs() stops reading an endless answer at the requested name, and past it", async () => {
  const search = (names: string[], name: string) => {
    const lines = [HEAD, ...names.map((name) => `${ID} ${name}`)];
    const rest = forever((n) => `${OTHER} refs/tags/zz${ordered(n)}`);
    const all = [...lines.map((line) => encodePktLines([line]))];
    const body = watched((function* () {
      yield* all;
      for (const line of rest) yield encodePktLines([line]);
    })());
    return ask(() => Promise.resolve(body.response), { ref: name }).then((result) => ({
      kind: result.kind,
      left: body.left,
      lines: body.pulls,
    }));
  };
  const branches = ["refs/heads/main", "refs/heads/main-2"];
  assertEquals(await search(branches, "main"), { kind: "found", left: true, lines: 2 });
  assertEquals(await search(branches, "mai"), { kind: "missing", left: true, lines: 4 });
  assertEquals(await search(["refs/tags/v1"], "v1"), { kind: "found", left: true, lines: 2 });
  assertEquals(await search(["refs/tags/v1-a"], "v1"), { kind: "missing", left: true, lines: 2 });
});

for (
  const [status, type] of [
    [200, "text/html"],
    [200, null],
    [204, TYPE],
    [206, TYPE],
    [301, null],
    [401, null],
    [403, null],
    [404, null],
    [429, null],
    [451, null],
    [500, TYPE],
    [503, null],
  ] as const
) {
  Deno.test(`lsRefs() does not read the body of a ${status} of type ${type}`, async () => {
    const headers: HeadersInit = type === null ? {} : { "content-type": type };
    const body = watched(forever(() => encoder.encode(good)));
    const response = new Response(status === 204 ? null : body.response.body, { status, headers });
    const { kind } = await ask(() => Promise.resolve(response));
    assertEquals(kind, status === 401 ? "denied" : status === 429 ? "rate-limited" : "unusable");
    assertEquals([body.pulls, body.left], [0, status !== 204]);
  });
}

Deno.test("lsRefs() takes seconds and dates of Retry-After, else an hour", async () => {
  const cases: [string | null, number][] = [
    [null, 3_600_000],
    ["120", 120_000],
    ["0", 1000],
    ["999999999999", 86_400_000],
    [new Date(NOW + 90_000).toUTCString(), 90_000],
    [new Date(NOW - 90_000).toUTCString(), 1000],
    ["soon", 3_600_000],
    ["-5", 1000],
  ];
  for (const [value, retryAfterMs] of cases) {
    const headers: HeadersInit = value === null ? {} : { "retry-after": value };
    const result = await ask(() => Promise.resolve(new Response(null, { status: 429, headers })));
    assertEquals(result, { kind: "rate-limited", retryAfterMs }, `${value}`);
  }
});

Deno.test("lsRefs() passes on what the client layer throws, and takes a failed connection as unusable", async () => {
  await assertRejects(() => ask(() => Promise.reject(serviceBusy(1))), CollectionsError);
  assertEquals((await ask(() => Promise.reject(new TypeError("refused")))).kind, "unusable");
  assertEquals(
    (await ask(() => {
      throw new TypeError("refused");
    })).kind,
    "unusable",
  );
});

for (const before of ["its head", "its body"]) {
  Deno.test(`lsRefs() stops waiting for ${before} when its signal aborts`, async () => {
    for (const isTimeout of [true, false]) {
      const arrived = Promise.withResolvers<void>();
      const body = new TransformStream<Uint8Array, Uint8Array>();
      const answer = new AbortController();
      const server = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen: () => {} },
        async () => {
          if (before === "its head") {
            arrived.resolve();
            await new Promise((resolve) => answer.signal.addEventListener("abort", resolve));
          }
          return new Response(body.readable, { headers: { "content-type": TYPE } });
        },
      );
      const writer = body.writable.getWriter();
      writer.closed.catch(() => {});
      if (before === "its body") {
        writer.write(encodePktLines([HEAD])).then(arrived.resolve, () => {});
      }
      const aborted = new AbortController();
      const reason = isTimeout ? new DOMException("late", "TimeoutError") : new Error("left");
      const asked = ask(fetch, {
        gitUrl: `http://127.0.0.1:${server.addr.port}`,
        signal: aborted.signal,
      });
      await arrived.promise;
      aborted.abort(reason);
      if (isTimeout) assertEquals(await asked, { kind: "unusable", reason: "no answer in time" });
      else assertEquals(await assertRejects(() => asked), reason);
      answer.abort();
      await writer.close().catch(() => {});
      await server.shutdown();
    }
  });
}

Deno.test("lsRefs() gives a result for any bytes in any pieces, and a commit only as it was sent", async () => {
  const line = fc.constantFrom(
    HEAD,
    `unborn HEAD symref-target:refs/heads/main`,
    `${ID} refs/heads/main`,
    `${OTHER} refs/heads/main-2`,
    `${OTHER} refs/tags/main peeled:${ID}`,
    "ERR refused",
    "",
  ).map((text) => encodePktLines([text]));
  const part = fc.oneof(
    { weight: 5, arbitrary: line },
    fc.constant(encodePktLines([FLUSH])),
    fc.uint8Array({ maxLength: 8 }),
  );
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 6 }), fc.nat(60), async (parts, cut) => {
      const bytes = new Uint8Array(parts.flatMap((part) => [...part]));
      const body = watched([bytes.slice(0, cut), bytes.slice(cut)].filter((b) => b.length > 0));
      const result = await ask(() => Promise.resolve(body.response));
      seen.set(result.kind, (seen.get(result.kind) ?? 0) + 1);
      if (result.kind === "found") assertEquals(result.commit, ID);
    }),
    { numRuns: 500 },
  );
  assertEquals([...seen.keys()].toSorted(), ["found", "missing", "unborn", "unusable"]);
});
