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
import { startService, type TestService } from "../service.ts";
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
    gh.resetCounts();
    assertEquals(await both(), [body, body]);
    const sent = gh.requests.map(({ kind, status }) => `${kind} ${status}`);
    assertEquals(sent, ["commit 304", "commit 304"]);
    const commit = await git.commit({ "posts/new.md": "B\n" });
    clock.advance(MINUTE_MS - 1);
    assertEquals(await both(), [body, body]);
    clock.advance(1);
    const commits = (await both()).map(({ repository }) => repository.commit);
    assertEquals(commits, [commit, commit]);
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

testOnEachStore("KV_WRITE_MB_PER_HOUR=0 writes no object", async (store) => {
  const settings = { KV_WRITE_MB_PER_HOUR: "0" };
  await using opened = await open(store, textFiles(20), settings);
  await opened.inProcess((service) => service.list({ includeContent: true }));
  using kv = await store.open();
  const prefix = ["rc4", "value"];
  const kinds = await Array.fromAsync(kv.list({ prefix }), ({ key }) => key[3]);
  assertEquals(kinds, ["ref"]);
});

/** Ways to damage the values of a store. */
const damages: Record<
  string,
  (entries: Deno.KvEntry<Uint8Array>[], clock: TestClock) => Uint8Array[]
> = {
  "have another bit": (entries) =>
    entries.map(({ value }) => value.with(-1, value.at(-1)! ^ 1)),
  "do not decode": (entries, clock) =>
    entries.map(() => encodeValue(randomBytes(100), clock.now() + DAY_MS)!),
  "are under the id of another blob": (entries) => {
    const isBlob = ({ key }: Deno.KvEntry<Uint8Array>) => key[3] === "blob";
    const blobs = entries.filter(isBlob);
    return entries.map((entry) =>
      isBlob(entry) ? blobs.pop()!.value : entry.value
    );
  },
};
for (const [name, damage] of Object.entries(damages)) {
  testOnEachStore(`values that ${name} are read again`, async (store) => {
    await using opened = await open(store, textFiles(2));
    const { clock, inProcess } = opened;
    const list = (service: TestService) =>
      service.list({ includeContent: true });
    const truth = await inProcess(list);
    {
      using kv = await store.open();
      const values = kv.list<Uint8Array>({ prefix: ["rc4", "value"] });
      const entries = await Array.fromAsync(values);
      for (const [index, value] of damage(entries, clock).entries()) {
        await kv.set(entries[index]!.key, value);
      }
    }
    assertEquals(await inProcess(list), truth);
  });
}
