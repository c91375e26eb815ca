// Connections that take more than they give: readers that do not read, streams
// without a window, bodies that stand still, and deliveries of the webhook that
// come again and again.

import { makeGitRepository } from "../../../tests/github/git_repository.ts";
import { signatureOf } from "../../../tests/github/served_repository.ts";
import type { Attacker } from "../attacker.ts";
import { type Http1Request, openHttp1, writeRequest } from "../http1.ts";
import { Http2Connection } from "../http2.ts";
import { gitFiles, many, repositoryOf, type Row, type Site } from "../row.ts";

/** The secret of every service in the bench. */
export const WEBHOOK_SECRET = "bench-secret";
const WEBHOOK = "/api/webhooks/github";
const MIB = 1 << 20;
const BRANCHES = 100;
/** How long readers hold their connections. */
const HOLD_MS = 8_000;
/**
 * Requests under way at once, so that the service makes the answers and does
 * not refuse them.
 */
const AT_ONCE = 12;
const [TRIES, RETRY_MS] = [20, 250];

/**
 * Files whose names fill a page of 1,000 items to just under 1 MiB, from which
 * on an answer reserves memory.
 */
const PAGES = 30;
const longNames = () =>
  makeGitRepository(gitFiles(many(PAGES * 1_000, (n) => {
    return [`posts/${`${n}-`.padEnd(178, "x")}.md`, "x\n"] as const;
  })));
/**
 * Each page is in the cache, so that a connection costs the attacker one
 * request and no time.
 */
const pageBelowMib = ({ list }: Site, n: number) =>
  list({ page: 1 + n % PAGES, limit: 1_000 });
const readPages = (site: Site) => many(PAGES, (n) => pageBelowMib(site, n));

const LARGEST_BYTES = 10 * MIB;

/** Collections of one file each, whose lists have 4 MB. */
const COLLECTIONS = 20;
const largeFiles = () =>
  makeGitRepository(gitFiles(many(COLLECTIONS, (n) => {
    return [`posts/${n}/a.txt`, `${n}`.padEnd(4_000_000, "x")] as const;
  })));
const largeList = ({ list }: Site, n: number) =>
  list({ collection: `posts/${n % COLLECTIONS}`, includeContent: true });

/**
 * Connections that read the head of an answer and no more, and stay. One that
 * is refused tries again.
 */
async function holdUnread(
  attacker: Attacker,
  count: number,
  path: (n: number) => string,
) {
  using stack = new DisposableStack();
  let begun = 0;
  await Promise.all(many(AT_ONCE, async () => {
    while (begun < count && !attacker.signal.aborted) {
      const request = { target: path(begun++), headers: attacker.address };
      for (let tries = 0; tries < TRIES && !attacker.signal.aborted; tries++) {
        const connection = await openHttp1(attacker.port, attacker.signal)
          .catch(() => null);
        if (connection === null) {
          attacker.count("no connection");
          break;
        }
        const status = await readStatus(connection, attacker.port, request)
          .catch(() => "no answer");
        attacker.count(`${status} unread`);
        if (status === "200") {
          stack.use(connection);
          break;
        }
        connection[Symbol.dispose]();
        await attacker.wait(RETRY_MS);
      }
    }
  }));
  await attacker.wait(HOLD_MS);
}

/** Reads an answer at 200 kB a second. */
async function trickle(
  connection: Deno.Conn,
  attacker: Attacker,
  request: Http1Request,
): Promise<void> {
  attacker.count(
    `${await readStatus(connection, attacker.port, request)} slow`,
  );
  const buffer = new Uint8Array(20_000);
  while (await connection.read(buffer) !== null) await attacker.wait(100);
  attacker.count("cut off");
}

/** The status of an answer whose body stays unread. */
async function readStatus(
  connection: Deno.Conn,
  port: number,
  request: Http1Request,
) {
  await writeRequest(connection, port, request);
  const buffer = new Uint8Array(12);
  let length = 0;
  while (length < buffer.length) {
    const count = await connection.read(buffer.subarray(length));
    if (count === null) {
      throw new Error("Cannot read an answer: the connection ended early");
    }
    length += count;
  }
  return new TextDecoder().decode(buffer).slice(9);
}

/**
 * Streams whose answers may send nothing of their bodies. One that is refused
 * tries again.
 */
async function holdStreams(
  attacker: Attacker,
  site: Site,
  { connections, streams }: {
    readonly connections: number;
    readonly streams: number;
  },
): Promise<void> {
  await Promise.all(many(connections, async (k) => {
    using connection = await Http2Connection.open(
      attacker.port,
      0,
      attacker.signal,
    );
    let begun = 0;
    await Promise.all(many(Math.ceil(AT_ONCE / connections), async () => {
      while (begun < streams && !connection.isOver) {
        const path = pageBelowMib(site, k * streams + begun++);
        for (let tries = 0; tries < TRIES && !connection.isOver; tries++) {
          const { stream, answer } = await connection.request(
            path,
            attacker.address,
          );
          const status = await answer;
          attacker.count(`${status} in a stream`);
          if (status === "200" || status === "refused") break;
          await connection.reset(stream);
          await attacker.wait(RETRY_MS);
        }
      }
    }));
    await attacker.wait(HOLD_MS);
    attacker.count(connection.isOver ? "connection closed" : "connection kept");
  }));
}

/** Connections that are kept, each of which reads a page again and again. */
async function keepAsking(
  attacker: Attacker,
  { connections, forMs }: {
    readonly connections: number;
    readonly forMs: number;
  },
  target: string,
): Promise<void> {
  const endsAtMs = performance.now() + forMs;
  const headers = { ...attacker.address, connection: "keep-alive" };
  const decoder = new TextDecoder("latin1");
  await Promise.all(many(connections, async () => {
    using connection = await openHttp1(attacker.port, attacker.signal);
    const buffer = new Uint8Array(64 << 10);
    while (performance.now() < endsAtMs && !attacker.signal.aborted) {
      await writeRequest(connection, attacker.port, { target, headers });
      let text = "";
      let bytes = Infinity;
      while (text.length < bytes) {
        const count = await connection.read(buffer);
        if (count === null) return;
        text += decoder.decode(buffer.subarray(0, count));
        const [head = "", ...body] = text.split("\r\n\r\n");
        const length = /^content-length: (\d+)/im.exec(head)?.[1];
        if (body.length > 0) bytes = head.length + 4 + Number(length);
      }
      attacker.count(text.slice(9, 12));
    }
  })).catch(() => attacker.count("connection closed"));
}

/** A delivery as GitHub sends it. */
function delivery(
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Http1Request {
  const signature = signatureOf(body, WEBHOOK_SECRET);
  const own = { "x-github-event": "push", "x-hub-signature-256": signature };
  const type = { "content-type": "application/json" };
  return {
    method: "POST",
    target: WEBHOOK,
    body,
    headers: { ...own, ...type, ...headers },
  };
}

const push = (fullName: string, fill = "") =>
  JSON.stringify({
    ref: "refs/heads/main",
    fill,
    repository: { full_name: fullName },
  });

const UNSIGNED = { "x-hub-signature-256": `sha256=${"0".repeat(64)}` };

const nameOf = (row: Row) => Object.values(repositoryOf(row)).join("/");

const SIGNED_AGAIN: Row = {
  // One delivery, which somebody has recorded or an author causes, and a
  // repository with many branches in use.
  name: "signed-again",
  attacker: "author",
  repository: async () => {
    const repository = await makeGitRepository({ "posts/a.md": "x" });
    for (let n = 0; n < BRANCHES; n++) await repository.branch(`b${n}`);
    return repository;
  },
  first: ({ list }) => many(BRANCHES, (n) => list({ branch: `b${n}` })),
  attack: (attacker) =>
    attacker.flood(
      { times: 1_000, atOnce: 8 },
      () => delivery(push(nameOf(SIGNED_AGAIN))),
    ),
  check: ({ sourceRequests }) =>
    sourceRequests <= 20 * BRANCHES
      ? null
      : `it caused ${sourceRequests} requests to the source`,
};

export const CONNECTION_ROWS: readonly Row[] = [
  {
    name: "slow-readers",
    attacker: "anybody",
    repository: longNames,
    first: readPages,
    attack: (attacker, site) =>
      holdUnread(attacker, 1_000, (n) => pageBelowMib(site, n)),
    withinMs: 60_000,
  },
  {
    name: "slow-large-readers",
    attacker: "anybody",
    repository: largeFiles,
    first: (site) => many(COLLECTIONS, (n) => largeList(site, n)),
    attack: async (attacker, site) => {
      const held = holdUnread(attacker, 300, (n) => largeList(site, n));
      await attacker.wait(2_000);
      const small = site.list({ limit: 1 });
      await attacker.bystander("another client's list", small, {
        withinMs: 1_000,
      });
      await held;
    },
  },
  {
    // Two clients that read slowly, and hold all memory for large answers.
    name: "trickling-readers",
    attacker: "anybody",
    repository: () =>
      makeGitRepository(gitFiles([
        ...many(4, (n) =>
          [`files/${n}.bin`, `${n}`.padEnd(LARGEST_BYTES, "x")] as const),
        ["posts/a.txt", "a".padEnd(4_000_000, "x")] as const,
      ])),
    attack: async (attacker, { item, list }) => {
      using stack = new DisposableStack();
      const read = async (n: number) => {
        const target = item({ path: `files/${n}.bin`, format: "raw" });
        const { address: headers } = attacker.from(1 + n % 2);
        const { port, signal } = attacker;
        const connection = stack.use(await openHttp1(port, signal));
        await trickle(connection, attacker, { target, headers });
      };
      // The connection may close during a read.
      const closed = () => attacker.count("connection closed");
      const slow = many(4, (n) => read(n).catch(closed));
      await attacker.wait(2_000);
      await attacker.bystander(
        "another client's large list",
        list({ includeContent: true }),
        { withinMs: 30_000 },
      );
      stack.dispose();
      await Promise.all(slow);
    },
    withinMs: 90_000,
  },
  {
    name: "slow-streams",
    attacker: "anybody",
    repository: longNames,
    first: readPages,
    attack: (attacker, site) =>
      holdStreams(attacker, site, { connections: 1, streams: 2_400 }),
  },
  {
    // As many streams as a server takes on each of some connections.
    name: "many-streams",
    attacker: "anybody",
    repository: longNames,
    first: readPages,
    attack: (attacker, site) =>
      holdStreams(attacker, site, { connections: 12, streams: 200 }),
    withinMs: 60_000,
  },
  {
    // Streams that are reset at once, which an HTTP/2 server may count as over
    // while their work goes on.
    name: "reset-streams",
    attacker: "anybody",
    attack: async (attacker, { list }) => {
      for (let round = 0; round < 5 && !attacker.signal.aborted; round++) {
        using connection = await Http2Connection.open(
          attacker.port,
          65_535,
          attacker.signal,
        );
        for (let sent = 0; sent < 2_000 && !connection.isOver; sent++) {
          const path = list({ sort: `frontMatter.k${round}-${sent}` });
          const { stream } = await connection.request(path, attacker.address);
          await connection.reset(stream);
          attacker.count("reset");
        }
        await attacker.wait(500);
        attacker.count(
          connection.isOver ? "connection closed" : "connection kept",
        );
      }
    },
  },
  SIGNED_AGAIN,
  {
    // A page that costs no miss.
    name: "public-pages",
    attacker: "anybody",
    attack: async (attacker, { list }) => {
      const page = "/problems/service-busy";
      const options = { connections: 600, forMs: 8_000 };
      const asking = keepAsking(attacker, options, page);
      await attacker.wait(2_000);
      await attacker.bystander("another client's list", list({ limit: 7 }), {
        withinMs: 3_000,
      });
      await asking;
    },
  },
  {
    // The document has the address of the service, which a client can name.
    name: "openapi-hosts",
    attacker: "anybody",
    attack: (attacker) =>
      attacker.flood({ times: 3_000, atOnce: 100 }, (n) => ({
        target: "/api/openapi.json",
        headers: { host: `h${n}.example`, "accept-encoding": "gzip" },
      })),
  },
  {
    // Bodies without a valid signature that stand still, while a signed one
    // comes.
    name: "stalled-bodies",
    attacker: "anybody",
    attack: async (attacker) => {
      using stack = new DisposableStack();
      await Promise.all(many(8, async (n) => {
        const connection = stack.use(
          await openHttp1(attacker.port, attacker.signal),
        );
        const headers = {
          ...attacker.from(n + 1).address,
          ...UNSIGNED,
          "content-length": `${24 * MIB}`,
        };
        const body = new Uint8Array(9 * MIB);
        await writeRequest(connection, attacker.port, {
          method: "POST",
          target: WEBHOOK,
          headers,
          body,
        })
          .catch(() => attacker.count("refused"));
        attacker.count("stalled");
      }));
      const signed = delivery(push("octo/ordinary", "x".repeat(2 * MIB)));
      await attacker.bystander("a signed delivery of 2 MiB", signed, {
        withinMs: 2_000,
      });
      await attacker.wait(3_000);
    },
  },
  {
    // Deliveries without a valid signature, to addresses that take long to
    // parse.
    name: "unsigned-addresses",
    attacker: "anybody",
    attack: (attacker) =>
      attacker.flood({ times: 200, atOnce: 50 }, (n) => ({
        ...delivery("x", UNSIGNED),
        target: `${WEBHOOK}?${"%zz".repeat(19_500)}=${n}`,
      })),
  },
  {
    name: "unsigned-bodies",
    attacker: "anybody",
    attack: (attacker) => {
      const body = "x".repeat(20 * MIB);
      return attacker.flood(
        { times: 24, atOnce: 8 },
        () => delivery(body, UNSIGNED),
      );
    },
  },
];
