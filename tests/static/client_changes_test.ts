// changes() and watch() of the client against a real server. Waiting advances
// the service's clock. What pages do with them is tested in Chromium, by
// tests/browser/watch_test.ts.

import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  CollectionsClient,
  type CollectionUpdate,
  ProblemError,
} from "../../packages/client/client.ts";
import { startSite } from "../site.ts";

const POSTS = { owner: "octo", repo: "site", collection: "posts" };

/**
 * A client of a new site. `onWait` runs before each wait; what it and the
 * server did is in `events`.
 */
async function startClient(env: Record<string, string> = {}) {
  const site = await startSite(
    { "posts/a.md": "1", "posts/b.md": "2" },
    { env },
  );
  const events: string[] = [];
  const parts = {
    site,
    events,
    onWait: (_waits: number): unknown => undefined,
    client: new CollectionsClient(`http://127.0.0.1:${site.service.listen()}`, {
      async fetch(input, init) {
        const { pathname, searchParams } = new URL(String(input));
        const response = await fetch(input, init);
        const since = searchParams.get("since")?.slice(0, 4);
        const path = pathname.replace("/api/list-collection-", "");
        events.push(`${path}${since ? ` ${since}` : ""} ${response.status}`);
        return response;
      },
      async wait(ms, signal) {
        events.push(`wait ${ms / 1000}`);
        waits++;
        await parts.onWait(waits);
        signal?.throwIfAborted();
        site.service.clock.advance(ms);
      },
    }),
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
  let waits = 0;
  return parts;
}

const pathsOf = ({ added, changed, removed, renamed }: CollectionUpdate) => [
  ...added.map(({ path }) => `+${path}`),
  ...changed.map(({ path }) => `~${path}`),
  ...removed.map(({ path }) => `-${path}`),
  ...renamed.map(({ from, path }) => `${from}>${path}`),
];

/** The paths of the first updates; then it stops. */
async function take(
  updates: AsyncIterable<CollectionUpdate>,
  count: number,
): Promise<string[][]> {
  const taken: string[][] = [];
  for await (const update of updates) {
    taken.push([...update.isWhole ? ["all"] : [], ...pathsOf(update)]);
    if (taken.length === count) break;
  }
  return taken;
}

Deno.test("changes() yields all files, and then each change", async () => {
  await using parts = await startClient();
  const { client, site: { repository }, events } = parts;
  parts.onWait = (waits) =>
    waits === 2
      ? repository.commit({
        "posts/a.md": "3",
        "posts/b.md": null,
        "posts/c.md": "2",
      })
      : waits === 3 && repository.commit({ "posts/d.md": "", "x.md": "" });
  assertEquals(await take(client.changes(POSTS), 3), [
    ["all", "+posts/a.md", "+posts/b.md"],
    ["~posts/a.md", "posts/b.md>posts/c.md"],
    ["+posts/d.md"],
  ]);
  const ids = (await repository.git("log", "--format=%h", "--abbrev=4"))
    .split("\n");
  assertEquals(events, [
    "items 200",
    `changes ${ids[2]} 200`,
    "wait 60",
    `changes ${ids[2]} 304`,
    "wait 60",
    `changes ${ids[2]} 200`,
    "wait 60",
    `changes ${ids[1]} 200`,
  ]);
});

Deno.test("changes() follows a data file as one file", async () => {
  await using parts = await startClient();
  const { client, site } = parts;
  const { repository } = site;
  const path = "posts/data/m.csv";
  await site.push({ [path]: "n\n1\n", "posts/data/x/m.csv": "" });
  parts.onWait = () => repository.commit({ [path]: "n\n2\n" });
  const updates = client.changes({ ...POSTS, collection: path });
  assertEquals(await take(updates, 2), [["all", `+${path}`], [`~${path}`]]);
});

Deno.test("changes() of a handle starts from a commit", async () => {
  await using parts = await startClient();
  const { client, site: { repository } } = parts;
  const since = await repository.head();
  const stop = new AbortController();
  await repository.commit({ "other/x.md": "" });
  parts.onWait = (waits) =>
    waits === 1
      ? repository.commit({ "posts/c.md": "" })
      : stop.abort(new Error("enough"));
  const updates = client.collection(POSTS).changes({
    since,
    signal: stop.signal,
  });
  assertEquals(await take(updates, 1), [["+posts/c.md"]]);
  const more = client.collection(POSTS).changes({ signal: stop.signal });
  await assertRejects(() => take(more, 2), Error, "enough");
});

Deno.test("changes() lists again if the commit is unknown", async () => {
  await using parts = await startClient();
  const { client, site: { repository }, events } = parts;
  const unknown = client.changes({ ...POSTS, since: "0".repeat(40) });
  const all = ["all", "+posts/a.md", "+posts/b.md"];
  assertEquals(await take(unknown, 1), [all]);
  assertEquals(events, ["changes 0000 410", "wait 1", "items 200"]);
  const since = await repository.head();
  const files = Array.from(
    { length: 10_001 },
    (_, n) => [`posts/${n}`, ""] as const,
  );
  await repository.commit(files);
  const [update] = await take(client.changes({ ...POSTS, since }), 1);
  assertEquals([update?.[0], update?.length], ["all", 10_004]);
});

Deno.test("changes() tries again, more slowly, while the service fails", async () => {
  await using parts = await startClient();
  const { client, site: { gh, repository, service }, events } = parts;
  const since = await repository.head();
  service.clock.advance(60_000);
  gh.fault = { kind: "status", status: 500 };
  parts.onWait = async (waits) => {
    if (waits < 8) return;
    gh.fault = null;
    await repository.commit({ "posts/c.md": "" });
  };
  const updates = client.changes({ ...POSTS, since });
  assertEquals(await take(updates, 1), [["+posts/c.md"]]);
  const waits = events.filter((event) => event.startsWith("wait"));
  assertEquals(
    waits.slice(0, 8),
    [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => `wait ${seconds}`),
  );
});

Deno.test("changes() polls old answers at the pace of max-age", async () => {
  const ages = ["0", "20", "59", "60", "61", "80000", "x"];
  const waits: number[] = [];
  const stopped = new AbortController();
  const files = { added: [], changed: [], removed: [], renamed: [] };
  const since = "0".repeat(40);
  const body = { repository: { commit: since }, since, ...files };
  const client = new CollectionsClient("http://service.test", {
    fetch: () => {
      const age = ages[waits.length]!;
      const headers = { age, "cache-control": "public, max-age=60" };
      return Promise.resolve(Response.json(body, { headers }));
    },
    wait: (ms) => {
      if (waits.push(ms / 1_000) === ages.length) stopped.abort();
      return Promise.resolve();
    },
  });
  const { signal } = stopped;
  const changes = client.changes({ ...POSTS, since }, { signal });
  await assertRejects(() => take(changes, 1));
  assertEquals(waits, [60, 40, 1, 1, 60, 60, 60]);
});

Deno.test("changes() survives a time-out", async () => {
  const answers = [
    () => Promise.reject(new DOMException("too long", "TimeoutError")),
    () => Promise.resolve(Response.json({ code: "x" }, { status: 404 })),
  ];
  const client = new CollectionsClient("http://127.0.0.1:1", {
    wait: () => Promise.resolve(),
    fetch: () => answers.shift()!(),
  });
  const changes = client.changes({ ...POSTS, since: "0".repeat(40) });
  await assertRejects(() => take(changes, 1), ProblemError);
  assertEquals(answers, []);
});

Deno.test("watch() stops when its function or its signal says so", async () => {
  for (const how of ["function", "signal", "at once"]) {
    await using parts = await startClient();
    const { client, events } = parts;
    const controller = new AbortController();
    if (how === "at once") controller.abort();
    const waiting = Promise.withResolvers<void>();
    const stop = client.collection(POSTS).watch(
      (update) => events.push(...pathsOf(update)),
      {
        signal: controller.signal,
        onError: (error) => events.push(`error ${error}`),
      },
    );
    parts.onWait = () => {
      if (how === "function") stop();
      else controller.abort();
      setTimeout(waiting.resolve, 20);
    };
    if (how === "at once") setTimeout(waiting.resolve, 20);
    await waiting.promise;
    assertEquals(
      events.map((event) => event.split(" ")[0]),
      how === "at once"
        ? []
        : ["items", "+posts/a.md", "+posts/b.md", "changes", "wait"],
    );
  }
});

Deno.test("watch() gives onError what ends it", async () => {
  await using parts = await startClient({ ALLOWED_REPOS: "octo/*" });
  const { client, site: { repository } } = parts;
  const fault = new Error("a fault of the page");
  const update = () => {
    throw fault;
  };
  await repository.branch("next");
  parts.onWait = () => repository.deleteBranch("next");
  const errorOf = (branch: string, callback: () => void) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    client.watch({ ...POSTS, branch }, callback, { onError: resolve });
    return promise;
  };
  assertEquals(await errorOf("main", update), fault);
  const error = await errorOf("next", () => {});
  assert(error instanceof ProblemError);
  assertEquals(error.code, "branch-not-found");
});
