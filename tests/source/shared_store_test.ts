// Several processes, one after the other or at once, on one key-value store:
// they share what one has read, damaged entries are read again, and what may
// not be written is not.

import { assertEquals } from "@std/assert";
import { encodeValue } from "../../lib/cache/kv_value.ts";
import { refTag } from "../../lib/http/cache_tags.ts";
import { randomBytes } from "../cache/watched_kv.ts";
import { serveRepository } from "../github/served_repository.ts";
import type { GitFiles } from "../github/git_repository.ts";
import {
  type SharedStore,
  testOnEachStore,
} from "../kv_connect/shared_stores.ts";
import { listPath, startService, type TestService } from "../service.ts";
import { TestClock } from "../test_clock.ts";
import { textFiles } from "./open_github.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** A double with `octo/site`, and services over one store. */
async function open(
  store: SharedStore,
  files: GitFiles,
  settings: Record<string, string> = {},
) {
  const clock = new TestClock(Date.now() + MINUTE_MS);
  const served = await serveRepository(files, { now: clock.now });
  const { gh } = served;
  gh.addToken("t1");
  const env = {
    LOG_LEVEL: "silent",
    GITHUB_TOKEN: "t1",
    ALLOWED_REPOS: "octo/*",
    ...settings,
  };
  const start = async () =>
    await startService({ env, github: gh, clock, kv: await store.open() });
  return {
    clock,
    gh,
    git: served.repository,
    start,
    /** What a process gives that ends then. */
    async inProcess<T>(work: (service: TestService) => Promise<T>): Promise<T> {
      await using service = await start();
      return await work(service);
    },
    /** What is stored now of some kinds, as the kind and id of each key. */
    async stored(...kinds: string[]): Promise<string[]> {
      using kv = await store.open();
      const entries = await Array.fromAsync(
        kv.list({ prefix: ["rc4", "value"] }),
      );
      return entries.map(({ key: [, , , kind, ...key] }) =>
        [kind, key.at(-1)].map(String)
      )
        .filter(([kind]) => kinds.includes(kind!))
        .map(([kind, id]) => `${kind} ${id!.split("\n").at(-1)}`);
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

testOnEachStore(
  "processes show what one has read, and a push within 60 s",
  async (store) => {
    await using opened = await open(store, textFiles(60));
    const { clock, gh, git, inProcess } = opened;
    const list = (process: TestService) =>
      process.list({ includeContent: true });
    const body = await inProcess(list);
    await using first = await opened.start();
    await using second = await opened.start();
    const both = () => Promise.all([first, second].map(list));
    for (let check = 0; check < 2; check++) {
      gh.resetCounts();
      assertEquals(await both(), [body, body]);
      const requests = gh.requests.map(({ kind, status }) =>
        `${kind} ${status}`
      );
      assertEquals(requests, ["commit 304", "commit 304"]);
      clock.advance(MINUTE_MS);
    }
    await both();
    clock.advance(MINUTE_MS / 2);
    const before = await git.head();
    const after = await git.commit({ "posts/new.md": "B\n" });
    const commits = async () =>
      (await both()).map(({ repository }) => repository.commit);
    assertEquals(await commits(), [before, before]);
    clock.advance(MINUTE_MS / 2);
    assertEquals(await commits(), [after, after]);
  },
);

testOnEachStore(
  "one process purges a move that two find",
  async (store) => {
    const purged: string[] = [];
    await using cache = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      ({ headers }) => {
        purged.push(headers.get("xkey-purge")!);
        return new Response();
      },
    );
    await using opened = await open(store, textFiles(1), {
      CACHE_PURGE: `varnish:http://127.0.0.1:${cache.addr.port}`,
    });
    const { clock } = opened;
    await using first = await opened.start();
    await using second = await opened.start();
    const both = () =>
      Promise.all([first, second].map((process) => process.list()));
    /** Lets seconds pass, each after what is due had time to happen. */
    const pass = async (seconds: number, pauseMs: number) => {
      for (let n = 0; n < seconds; n++) {
        await new Promise((resume) => setTimeout(resume, pauseMs));
        clock.advance(1_000);
      }
    };
    await both();
    await pass(61, 10);
    purged.length = 0;
    await opened.git.commit({ "posts/new.md": "B\n" });
    await both();
    await pass(13, 150);
    const tag = refTag({ owner: "octo", repo: "site", branch: "main" });
    assertEquals(purged, [tag, tag]);
  },
);

testOnEachStore(
  "a restart while the source is down serves what was known",
  async (store) => {
    await using opened = await open(store, textFiles(20));
    const { clock, gh } = opened;
    const body = await opened.inProcess((first) =>
      first.list({ includeContent: true })
    );
    await gh.down();
    clock.advance(60 * MINUTE_MS);
    await using second = await opened.start();
    const response = await second.get(listPath({ includeContent: true }));
    assertEquals(await response.json(), body);
    const status = "collections; hit; ttl=-3540; detail=stale-if-error";
    assertEquals(response.headers.get("cache-status"), status);
    assertEquals(response.headers.get("age"), "3600");
  },
);

testOnEachStore(
  "KV_WRITE_MB_PER_HOUR=0 writes no object, which memory has",
  async (store) => {
    await using opened = await open(store, textFiles(20), {
      KV_WRITE_MB_PER_HOUR: "0",
    });
    const { clock, gh } = opened;
    await opened.inProcess(async (service) => {
      await service.list({ includeContent: true });
      clock.advance(3 * DAY_MS);
      gh.resetCounts();
      await service.list({ includeContent: true, page: 1 });
      assertEquals(gh.counts(), { commit: 1 });
    });
    assertEquals(await opened.stored("ref", "tree", "files", "blob"), [
      "ref main",
    ]);
  },
);

testOnEachStore(
  "a blob that does not fit stays in memory only",
  async (store) => {
    const files = {
      "p/large.txt": randomBytes(100_000).toHex(),
      "p/small.txt": "x".repeat(1 << 20),
    };
    await using opened = await open(store, files);
    const { gh, git } = opened;
    const item = (service: TestService) =>
      service.item({ path: "p/large.txt" });
    await opened.inProcess(async (service) => {
      await service.list({ collection: "p", includeContent: true });
      gh.resetCounts();
      await item(service);
      assertEquals(gh.counts(), {});
    });
    assertEquals(await opened.stored("blob"), [
      `blob ${await git.resolve("main:p/small.txt")}`,
    ]);
    gh.resetCounts();
    await opened.inProcess(item);
    assertEquals(gh.counts().blob, 1);
  },
);

/** Ways to damage every value of a store. */
const damages: Record<
  string,
  (value: Uint8Array, clock: TestClock) => Uint8Array
> = {
  "have another bit": (value) => value.with(-1, value.at(-1)! ^ 1),
  "do not decode": (_, clock) =>
    encodeValue(randomBytes(100), clock.now() + DAY_MS)!,
};
for (const [name, damage] of Object.entries(damages)) {
  testOnEachStore(
    `values that ${name} are read again`,
    async (store) => {
      await using opened = await open(store, textFiles(6));
      const { clock, gh, inProcess } = opened;
      const list = (service: TestService) =>
        service.list({ includeContent: true });
      const truth = await inProcess(list);
      {
        using kv = await store.open();
        for await (
          const { key, value } of kv.list<Uint8Array>({ prefix: [] })
        ) {
          await kv.set(key, damage(value, clock));
        }
      }
      clock.advance(MINUTE_MS);
      gh.fault = { kind: "status", status: 500 };
      assertEquals(
        (await inProcess((service) => service.get(listPath()))).status,
        502,
      );
      gh.fault = null;
      gh.resetCounts();
      assertEquals(await inProcess(list), truth);
      assertEquals(gh.counts(), {
        commit: 1,
        tree: 1,
        "tree-recursive": 1,
        graphql: 1,
      });
    },
  );
}

testOnEachStore(
  "a blob stored under another blob's id is read again",
  async (store) => {
    await using opened = await open(store, textFiles(2));
    const { inProcess } = opened;
    const list = (service: TestService) =>
      service.list({ includeContent: true });
    const truth = await inProcess(list);
    {
      using kv = await store.open();
      const entries = await Array.fromAsync(
        kv.list<Uint8Array>({ prefix: ["rc4", "value"] }),
      );
      const [one, other] = entries.filter(({ key }) => key[3] === "blob");
      await kv.set(one!.key, other!.value);
    }
    assertEquals(await inProcess(list), truth);
  },
);
