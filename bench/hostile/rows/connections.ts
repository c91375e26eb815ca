// Connections that take more than they give: readers that do not read, streams without a window, bodies that stand still,
// and deliveries of the webhook that come again and again.

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

/** Collections of one file each, whose lists are just under 1 MiB, from which on an answer reserves memory. */
const COLLECTIONS = 20;
const [SMALL_BYTES, LARGE_BYTES] = [1_040_000, 4_000_000];
const largeLists = (bytes: number) => () =>
  makeGitRepository(gitFiles(many(COLLECTIONS, (n) => {
    return [`posts/${n}/a.txt`, `${n}`.padEnd(bytes, "x")] as const;
  })));
/** Each of these addresses has an answer of its own. */
const largeList = ({ list }: Site, n: number) =>
  list({
    collection: `posts/${n % COLLECTIONS}`,
    includeContent: true,
    limit: 1 + Math.floor(n / COLLECTIONS) % 100,
  });
const readLists = (site: Site) => many(COLLECTIONS, (n) => largeList(site, n));

/** Connections that send a request, read nothing of its answer, and stay. */
async function holdUnread(attacker: Attacker, count: number, path: (n: number) => string) {
  const stack = new DisposableStack();
  try {
    for (let n = 0; n < count && !attacker.signal.aborted; n++) {
      try {
        const connection = stack.use(await openHttp1(attacker.port, attacker.signal));
        const request = { target: path(n), headers: attacker.address };
        await writeRequest(connection, attacker.port, request);
        attacker.count("unread");
      } catch {
        attacker.count("no connection");
      }
    }
    await attacker.wait(HOLD_MS);
  } finally {
    stack.dispose();
  }
}

/** Streams whose answers may send nothing of their bodies. */
async function holdStreams(
  attacker: Attacker,
  site: Site,
  { connections, streams }: { readonly connections: number; readonly streams: number },
): Promise<void> {
  await Promise.all(many(connections, async (k) => {
    using connection = await Http2Connection.open(attacker.port, 0, attacker.signal);
    let sent = 0;
    for (; sent < streams && !connection.isOver; sent++) {
      await connection.request(largeList(site, k * streams + sent), attacker.address);
    }
    await attacker.wait(HOLD_MS);
    countStreams(attacker, connection, sent);
  }));
}

/** A delivery as GitHub sends it. */
function delivery(body: string, headers: Readonly<Record<string, string>> = {}): Http1Request {
  const signature = signatureOf(body, WEBHOOK_SECRET);
  const own = { "x-github-event": "push", "x-hub-signature-256": signature };
  const type = { "content-type": "application/json" };
  return { method: "POST", target: WEBHOOK, body, headers: { ...own, ...type, ...headers } };
}

const push = (fullName: string, fill = "") =>
  JSON.stringify({ ref: "refs/heads/main", fill, repository: { full_name: fullName } });

const UNSIGNED = { "x-hub-signature-256": `sha256=${"0".repeat(64)}` };

const nameOf = (row: Row) => Object.values(repositoryOf(row)).join("/");

const SIGNED_AGAIN: Row = {
  // One delivery, which somebody has recorded or an author causes, and a repository with many branches in use.
  name: "signed-again",
  attacker: "author",
  repository: async () => {
    const repository = await makeGitRepository({ "posts/a.md": "x" });
    for (let n = 0; n < BRANCHES; n++) await repository.branch(`b${n}`);
    return repository;
  },
  first: ({ list }) => many(BRANCHES, (n) => list({ branch: `b${n}` })),
  attack: (attacker) =>
    attacker.flood({ times: 1_000, atOnce: 8 }, () => delivery(push(nameOf(SIGNED_AGAIN)))),
  check: ({ sourceRequests }) =>
    sourceRequests <= 20 * BRANCHES ? null : `it caused ${sourceRequests} requests to the source`,
};

export const CONNECTION_ROWS: readonly Row[] = [
  {
    name: "slow-readers",
    attacker: "anybody",
    repository: largeLists(SMALL_BYTES),
    first: readLists,
    attack: (attacker, site) => holdUnread(attacker, 1_000, (n) => largeList(site, n)),
  },
  {
    name: "slow-large-readers",
    attacker: "anybody",
    repository: largeLists(LARGE_BYTES),
    first: readLists,
    attack: async (attacker, site) => {
      const held = holdUnread(attacker, 300, (n) => largeList(site, n));
      await attacker.wait(2_000);
      const small = site.list({ limit: 1 });
      await attacker.bystander("another client's list", small, { withinMs: 1_000 });
      await held;
    },
  },
  {
    name: "slow-streams",
    attacker: "anybody",
    repository: largeLists(SMALL_BYTES),
    first: readLists,
    attack: (attacker, site) => holdStreams(attacker, site, { connections: 1, streams: 2_400 }),
  },
  {
    // As many streams as a server takes on each of some connections.
    name: "many-streams",
    attacker: "anybody",
    repository: largeLists(SMALL_BYTES),
    first: readLists,
    attack: (attacker, site) => holdStreams(attacker, site, { connections: 12, streams: 200 }),
  },
  {
    // Streams that are reset at once, which an HTTP/2 server may count as over while their work goes on.
    name: "reset-streams",
    attacker: "anybody",
    attack: async (attacker, { list }) => {
      for (let round = 0; round < 5 && !attacker.signal.aborted; round++) {
        using connection = await Http2Connection.open(attacker.port, 65_535, attacker.signal);
        let sent = 0;
        try {
          for (; sent < 2_000 && !connection.isOver; sent++) {
            const path = list({ sort: `frontMatter.k${round}-${sent}` });
            await connection.reset(await connection.request(path, attacker.address));
          }
        } catch {
          // The server has had enough.
        }
        await attacker.wait(500);
        countStreams(attacker, connection, sent);
      }
    },
  },
  SIGNED_AGAIN,
  {
    // Bodies without a valid signature that stand still, while a signed one comes.
    name: "stalled-bodies",
    attacker: "anybody",
    attack: async (attacker) => {
      using stack = new DisposableStack();
      await Promise.all(many(8, async (n) => {
        const connection = stack.use(await openHttp1(attacker.port, attacker.signal));
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
      await attacker.bystander("a signed delivery of 2 MiB", signed, { withinMs: 2_000 });
      await attacker.wait(3_000);
    },
  },
  {
    name: "unsigned-bodies",
    attacker: "anybody",
    attack: (attacker) => {
      const body = "x".repeat(20 * MIB);
      return attacker.flood({ times: 24, atOnce: 8 }, () => delivery(body, UNSIGNED));
    },
  },
];

/** Counts what came of streams; the rest have no answer yet. */
function countStreams(attacker: Attacker, connection: Http2Connection, sent: number): void {
  for (const [answer, count] of connection.answers) attacker.count(`stream ${answer}`, count);
  const missing = sent - connection.answered;
  if (missing > 0) attacker.count("stream without an answer", missing);
  if (connection.isOver) attacker.note("the server closed the connection");
}
