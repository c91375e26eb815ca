import { assertEquals, assertRejects } from "@std/assert";
import type { CollectionFolder } from "../../lib/collections/resolve_collection.ts";
import { SharedListings } from "../../lib/collections/shared_listings.ts";
import { CollectionsError, tooManyRequests } from "../../lib/errors.ts";
import { LISTING_LIMITS } from "../../lib/collections/list_files.ts";
import { type FileList, FileListBuilder } from "../../lib/repository/file_list.ts";
import type { Caller, Repository, Snapshot } from "../../lib/repository/repository.ts";

const FOLDER: CollectionFolder = { path: "posts", treeId: "t", declared: null, warnings: [] };
const SNAPSHOT = { name: { owner: "octo", repo: "site" } } as Snapshot;

function filesOf(count: number): FileList {
  const files = new FileListBuilder();
  for (let i = 0; i < count; i++) files.add({ path: `${i}.md`, id: "0".repeat(40), size: 0 });
  return files.build();
}

/** A repository that answers when it is told to, and counts how often it is asked. */
function sourceOf(files: FileList | null) {
  const answer = Promise.withResolvers<void>();
  const source = {
    asked: 0,
    walked: 0,
    letAnswer: answer.resolve,
    repository: {
      keptFiles: () => Promise.resolve(null),
      keepFiles: () => Promise.resolve(),
      async readTreeRecursive(_snapshot: Snapshot, _treeId: string, caller: Caller) {
        source.asked++;
        caller.miss({ joined: false });
        await answer.promise;
        return files;
      },
      readTree() {
        source.walked++;
        const folder = { kind: "folder", id: "t", size: 0 };
        return Promise.resolve([{ ...folder, name: "a" }, { ...folder, name: "b" }]);
      },
    } as unknown as Repository,
  };
  return source;
}

function callerWho(miss: Caller["miss"] = () => {}) {
  const caller = { misses: 0, joins: 0, miss };
  return {
    ...caller,
    miss(options?: { joined: boolean }) {
      if (options?.joined) this.joins++;
      else this.misses++;
      miss(options);
    },
  };
}

Deno.test("SharedListings lists a folder once for all who ask at the same time", async () => {
  const source = sourceOf(filesOf(3));
  const listings = new SharedListings();
  const callers = Array.from({ length: 20 }, () => callerWho());
  const listed = callers.map((caller) =>
    listings.list(FOLDER, { repository: source.repository, snapshot: SNAPSHOT, caller })
  );
  source.letAnswer();

  for (const files of await Promise.all(listed)) assertEquals(files.length, 3);
  assertEquals(source.asked, 1);
  assertEquals(callers.map(({ misses }) => misses), [1, ...Array(19).fill(0)]);
  assertEquals(callers.map(({ joins }) => joins), [0, ...Array(19).fill(1)]);
});

Deno.test("SharedListings refuses only the caller who may cause no more", async () => {
  const source = sourceOf(filesOf(3));
  const listings = new SharedListings();
  const refuse = () => {
    throw tooManyRequests(1);
  };
  const callers = [callerWho(refuse), callerWho(refuse), callerWho()];
  const listed = callers.map((caller) =>
    listings.list(FOLDER, { repository: source.repository, snapshot: SNAPSHOT, caller })
  );
  source.letAnswer();

  for (const refused of listed.slice(0, 2)) {
    assertEquals((await assertRejects(() => refused, CollectionsError)).code, "too-many-requests");
  }
  assertEquals((await listed[2]!).length, 3);
});

Deno.test("SharedListings remembers what is too large, however it is asked for again", async () => {
  const endless = sourceOf(null);
  endless.letAnswer();
  const listings = new SharedListings();
  const list = (name = SNAPSHOT.name) =>
    assertRejects(
      () =>
        listings.list(FOLDER, {
          repository: endless.repository,
          snapshot: { ...SNAPSHOT, name },
          caller: callerWho(),
        }),
      CollectionsError,
    );
  assertEquals((await list()).code, "collection-too-large");
  const { asked, walked } = endless;
  assertEquals(asked + walked <= LISTING_LIMITS.maxReads + 1, true);

  for (const name of [SNAPSHOT.name, { owner: "Octo", repo: "SITE" }]) {
    assertEquals((await list(name)).code, "collection-too-large");
    assertEquals([endless.asked, endless.walked], [asked, walked]);
  }
});

Deno.test("SharedListings walks through two large folders at once", async () => {
  const sources = [1, 2, 3].map(() => sourceOf(null));
  const listings = new SharedListings();
  const walks = sources.map(({ repository }, index) =>
    listings.list({ ...FOLDER, treeId: `t${index}` }, {
      repository,
      snapshot: SNAPSHOT,
      caller: callerWho(),
    }).catch(() => {})
  );
  let atOnce = 0;
  let most = 0;
  for (const { repository, letAnswer } of sources) {
    const wait = Promise.withResolvers<void>();
    Object.assign(repository, {
      async readTree() {
        most = Math.max(most, ++atOnce);
        setTimeout(wait.resolve, 0);
        await wait.promise;
        atOnce--;
        throw tooManyRequests(1);
      },
    });
    letAnswer();
  }
  await Promise.all(walks);

  assertEquals(most, 2);
});
