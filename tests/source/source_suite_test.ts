// What every implementation of the source port does, whatever it reads from.
// The repository is a real one, checked out, and all that is expected comes
// from Git. A new implementation begins with a row of `implementations`.

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertRejects,
} from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import type { FileList } from "../../lib/source/file_list.ts";
import { LocalSource } from "../../lib/source/local/local_source.ts";
import type { FileRef, Source } from "../../lib/source/source.ts";
import type { TreeEntry } from "../../lib/source/tree_entries.ts";
import { GithubDouble } from "../github/github_double.ts";
import { type GitContent, GitRepository } from "../github/git_repository.ts";
import { TestClock } from "../test_clock.ts";
import { inlineCompute } from "../thread/inline_compute.ts";
import { openCached, openGitHub, uncharged } from "./open_github.ts";

const withToken = { tokens: ["t1"] };

/**
 * Opens each implementation over the folder `root/Sample`, which `gh` has as
 * `octo/Sample`.
 */
const implementations: Record<
  string,
  (sample: { root: string; gh: GithubDouble; clock: TestClock }) => Source
> = {
  "GitHubSource without a token": ({ gh, clock }) => openGitHub(gh, { clock }),
  "GitHubSource by the API": ({ gh, clock }) =>
    openGitHub(gh, { clock, raw: false }),
  "GitHubSource with a token": ({ gh, clock }) =>
    openGitHub(gh, { clock, ...withToken }),
  "CachedSource without a token": ({ gh, clock }) => openCached(gh, { clock }),
  "CachedSource with a token": ({ gh, clock }) =>
    openCached(gh, { clock, ...withToken }),
  "LocalSource": ({ root, clock }) =>
    new LocalSource({ root, compute: inlineCompute, clock }),
};

const noId = "0123456789".repeat(4);

/**
 * Files whose names and bytes go wrong where a reader is careless about
 * encodings or about Git's order.
 */
const sampleFiles: Record<string, GitContent> = {
  ".hidden/secret.md": "not listed\n",
  "README.md": "# Sample\n",
  "run.sh": { executable: "#!/bin/sh\n" },
  "posts/link.md": { symlink: "hello.md" },
  "posts/hello.md": "---\ntitle: Hello\n---\n# Hello\n",
  "posts/2026/with space.md": "A name with a space\n",
  "posts/2026/Grüße aus Köln.md": "Grüße, 世界, 🍞\n",
  "posts/2026/100% + #1?&=.md": "A name that needs escaping in a URL\n",
  "posts/2026/back\\slash.md": "a character like any other\n",
  "posts/a/file.md": "below a\n",
  "posts/a-b.md": "sorts before the folder a\n",
  "posts/a0.md": "sorts after the folder a\n",
  "posts/\uff5e.md": "sorts before the bread by bytes, after it by UTF-16\n",
  "posts/\u{1f35e}.md": "bread\n",
  "posts/copy of hello.md": "---\ntitle: Hello\n---\n# Hello\n",
  "bytes/empty.txt": "",
  "bytes/bom.md": "\ufeff# With a byte order mark\n",
  "bytes/crlf.md": "one\r\ntwo\r\n",
  "bytes/latin-1.txt": Uint8Array.of(0x47, 0x72, 0xfc, 0xdf, 0x65, 0x0a),
  "bytes/binary.md": Uint8Array.of(0x00, 0x01, 0x02),
  "bytes/every byte.bin": Uint8Array.from({ length: 256 }, (_, index) => index),
  "bytes/large.bin": Uint8Array.from(
    { length: 1_200_000 },
    (_, index) => (index * 31) >> 4,
  ),
};

type Opened = Awaited<ReturnType<typeof open>>;

async function open(implementation: string) {
  const root = await Deno.makeTempDir({ prefix: "source_suite_" });
  const dir = `${root}/Sample`;
  await Deno.mkdir(dir);
  await new GitRepository(dir).git("init", "--quiet", "--initial-branch=main");
  const git = new GitRepository(dir);
  // A minute ahead, so that what was written just now counts as old.
  const clock = new TestClock(Date.now() + 60_000);
  const gh = new GithubDouble(clock.now);
  gh.add("octo/Sample", git);
  gh.addToken("t1");
  const source = implementations[implementation]!({ root, gh, clock });
  const owner = implementation === "LocalSource" ? "local" : "octo";
  const name = { owner, repo: "Sample" };
  /** Commits changes, which the files of the working tree follow. */
  const commit = async (changes: Record<string, GitContent | null>) => {
    await git.commit(changes);
    await git.git("reset", "--quiet", "--hard");
  };
  await commit(sampleFiles);
  return {
    git,
    clock,
    commit,
    source,
    name,
    resolve: (branch: string | null = "main", repository = name) =>
      source.resolve({ ...repository, branch }, uncharged),
    async [Symbol.asyncDispose]() {
      await gh[Symbol.asyncDispose]();
      await Deno.remove(root, { recursive: true });
    },
  };
}

const behaviours: Record<string, (opened: Opened) => Promise<void>> = {
  async "resolve() answers the branch, null and HEAD alike, and names in any case"(
    { clock, git, name, resolve },
  ) {
    const named = await resolve();
    assertEquals([named.name, named.branch], [name, "main"]);
    if (name.owner === "octo") assertEquals(named.commit, await git.head());
    assertMatch(named.commit, /^[0-9a-f]{40}$/);
    assertEquals(named.ref.commit, named.commit);
    assertEquals(named.checkedAtMs, clock.now());
    const byDefault = await resolve(null);
    assertEquals([byDefault.commit, byDefault.branch], [named.commit, "main"]);
    assertEquals((await resolve("HEAD")).commit, named.commit);
    const upper = { owner: name.owner.toUpperCase(), repo: "SAMPLE" };
    const shouted = await resolve("main", upper);
    assertEquals([shouted.name, shouted.commit], [upper, named.commit]);
  },

  async "at() finds an earlier commit, and null for others"(
    { clock, commit, source, resolve },
  ) {
    const before = await resolve();
    await commit({ "posts/hello.md": "changed\n" });
    clock.advance(60_000);
    const snapshot = await resolve();
    const earlier = await source.at(snapshot, before.commit, uncharged);
    assertEquals(earlier?.commit, before.commit);
    const [old, now] = await Promise.all(
      [earlier!, snapshot].map((of) => source.tree(of, of.commit, uncharged)),
    );
    assert(old!.find("posts")!.id !== now!.find("posts")!.id);
    assertEquals(await source.at(snapshot, noId, uncharged), null);
  },

  async "resolve() finds no repository and no branch that does not exist"(
    { name, source, resolve },
  ) {
    for (const branch of ["absent", "feature/absent", "MAIN", noId]) {
      const error = await assertRejects(
        () => resolve(branch),
        CollectionsError,
        '"main"',
      );
      assertEquals(error.code, "branch-not-found");
    }
    for (const branch of [null, "main", "HEAD"]) {
      const resolving = () => resolve(branch, { ...name, repo: "absent" });
      const { code } = await assertRejects(resolving, CollectionsError);
      assertEquals(code, "repository-not-found");
    }
    const signal = AbortSignal.abort(new Error("left"));
    const context = { ...uncharged, signal };
    await assertRejects(() =>
      source.resolve({ ...name, branch: null }, context)
    );
  },

  async "resolve() sees a new commit once its check is no longer fresh"(
    opened,
  ) {
    const { clock, resolve, source } = opened;
    const before = await resolve();
    const again = await resolve();
    clock.advance(before.ref.freshForMs);
    const same = await resolve();
    await opened.commit({ "posts/new.md": "New\n", "posts/hello.md": null });
    clock.advance(before.ref.freshForMs);
    const after = await resolve();

    assertEquals([again.commit, same.commit], [before.commit, before.commit]);
    assert(after.commit !== before.commit);
    const isCached = before.ref.freshForMs > 0;
    if (isCached) {
      const all = [before, again, same, after];
      const freshness = all.map((snapshot) => snapshot.freshness);
      assertEquals(freshness, ["new", "fresh", "unchanged", "moved"]);
      assert(before.ref === after.ref, "one live state a ref");
    }
    assertEquals(after.ref.commit, after.commit);
    const posts = await folderAt(opened, "posts");
    const files = await source.files(after, posts, uncharged);
    assertEquals(filesOf(files), await expectedFiles(opened, "posts"));
  },

  async "tree() and files() give what git ls-tree gives, and fail for an id that names nothing"(
    opened,
  ) {
    const { source, resolve } = opened;
    const snapshot = await resolve();
    for (const path of ["", "posts", "posts/2026", "bytes"]) {
      const id = await folderAt(opened, path);
      const entries = await source.tree(snapshot, id, uncharged);
      const listed = [...entries].map(comparable);
      assertEquals(listed.filter(isListed), expectedEntries(opened, path));
      const files = await source.files(snapshot, id, uncharged);
      assertEquals(filesOf(files), await expectedFiles(opened, path), path);
    }
    for (const read of [source.tree, source.files]) {
      const reading = () => read(snapshot, noId, uncharged);
      await assertRejects(reading, CollectionsError);
    }
  },

  async "blobs() gives the bytes that git cat-file gives, and an Error for a missing file"(
    opened,
  ) {
    const { git, resolve, source } = opened;
    const files = await expectedFiles(opened, "");
    // One is hidden, one a link.
    assertEquals(files.length, Object.keys(sampleFiles).length - 2);
    const snapshot = await resolve();
    const absent = { path: "posts/absent.md", id: noId, size: 5 };
    const blobs = await source.blobs(snapshot, [absent, ...files], uncharged);
    for (const { path, id } of files) {
      assertEquals(blobs.get(id), await git.blob(id), path);
    }
    assertInstanceOf(blobs.get(noId), Error);
    assertEquals(blobs.size, new Set(files.map(({ id }) => id)).size + 1);
    assertEquals(await source.blobs(snapshot, [], uncharged), new Map());
  },
};

for (const implementation of Object.keys(implementations)) {
  for (const [behaviour, test] of Object.entries(behaviours)) {
    Deno.test(`${implementation}: ${behaviour}`, async () => {
      await using opened = await open(implementation);
      await test(opened);
    });
  }
}

/**
 * The tree id of a folder, found as a use case finds it: from the root down.
 */
async function folderAt(
  { resolve, source }: Opened,
  path: string,
): Promise<string> {
  const snapshot = await resolve();
  let id = snapshot.commit;
  for (const segment of path.split("/").filter((segment) => segment !== "")) {
    const entries = await source.tree(snapshot, id, uncharged);
    const entry = entries.find(segment);
    assertEquals(entry?.kind, "folder", path);
    id = entry!.id;
  }
  return id;
}

const isListed = ({ name }: { name: string }) => !/(^|\/)\./.test(name);

/** Only files have a size. */
function comparable({ name, kind, id, size }: TreeEntry) {
  return { name, kind, id, size: kind === "file" ? size : null };
}

function expectedEntries({ git }: Opened, path: string) {
  const kinds: Record<string, TreeEntry["kind"]> = {
    "040000": "folder",
    "120000": "symbolic link",
  };
  const entries = git.store.tree(git.find(`HEAD:${path}`)!.oid)!;
  return entries.filter(isListed).map(({ name, mode, oid, size }) =>
    comparable({ name, kind: kinds[mode] ?? "file", id: oid, size: size! })
  );
}

async function expectedFiles(
  { git }: Opened,
  folder: string,
): Promise<FileRef[]> {
  const entries = await git.lsTree("HEAD", folder);
  return entries.filter(({ mode, path }) =>
    mode !== "120000" && isListed({ name: path })
  ).map(({ path, oid, size }) => ({
    path: folder === "" ? path : path.slice(folder.length + 1),
    id: oid,
    size: size!,
  }));
}

function filesOf(list: FileList | null): FileRef[] {
  assert(list !== null);
  return Array.from({ length: list.length }, (_, index) => list.at(index));
}
