// What every implementation of the source port does, whatever it reads from. The repository is a real one,
// checked out, and all that is expected comes from the git command.

import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import type { FileList } from "../../lib/source/file_list.ts";
import { blobId } from "../../lib/source/git_object_id.ts";
import type { FileRef, RepositoryName, Source, TreeEntry } from "../../lib/source/source.ts";
import { GitRepository, type ListedEntry } from "../github/git_repository.ts";
import { TestClock } from "../test_clock.ts";
import { uncharged } from "./open_github.ts";

/** A repository on disk to open, and the clock of its reader. */
export interface SampleRepository extends AsyncDisposable {
  /** Checked out on `branch`; `git.dir` is the working tree, a folder named `repo` directly below `root`. */
  readonly git: GitRepository;
  readonly root: string;
  readonly repo: string;
  readonly branch: string;
  readonly clock: TestClock;
}

/** An implementation over a {@linkcode SampleRepository}. */
export interface OpenedSource extends AsyncDisposable {
  readonly source: Source;
  /** What the sample is called here; with another `repo` there is nothing. */
  readonly name: RepositoryName;
  /** Whether a ref is checked again only once its check is no longer fresh; its live state then changes in place. */
  readonly isCached: boolean;
}

const latin1 = Uint8Array.of(0x47, 0x72, 0xfc, 0xdf, 0x65, 0x0a);
const everyByte = Uint8Array.from({ length: 256 }, (_, index) => index);
const noId = "0123456789".repeat(4);

/** Files whose names and bytes go wrong where a reader is careless about encodings or about Git's order. */
const sampleFiles: Record<string, string | Uint8Array> = {
  ".hidden/secret.md": "not listed\n",
  "README.md": "# Sample\n",
  "posts/hello.md": "---\ntitle: Hello\n---\n# Hello\n",
  "posts/2026/with space.md": "A name with a space\n",
  "posts/2026/Grüße aus Köln.md": "Grüße, 世界, 🍞\n",
  "posts/2026/100% + #1?&=.md": "A name that needs escaping in a URL\n",
  "posts/a/file.md": "below a\n",
  "posts/a-b.md": "sorts before the folder a\n",
  "posts/a0.md": "sorts after the folder a\n",
  "posts/\uff5e.md": "sorts before the bread by bytes, after it by UTF-16\n",
  "posts/\u{1f35e}.md": "bread\n",
  "posts/copy of hello.md": "---\ntitle: Hello\n---\n# Hello\n",
  "bytes/empty.txt": "",
  "bytes/bom.md": "\ufeff# With a byte order mark\n",
  "bytes/crlf.md": "one\r\ntwo\r\n",
  "bytes/latin-1.txt": latin1,
  "bytes/every byte.bin": everyByte,
  "bytes/large.bin": Uint8Array.from({ length: 1_200_000 }, (_, index) => (index * 31) >> 4),
};

/** Registers the suite. `open` gives a new implementation over the sample each time. */
export function testSource(
  name: string,
  open: (sample: SampleRepository) => OpenedSource,
): void {
  const test = (behaviour: string, body: (opened: Opened) => Promise<void>) =>
    Deno.test(`${name}: ${behaviour}`, async () => {
      await using sample = await makeSample();
      await using opened = open(sample);
      await body({ ...opened, sample });
    });

  test("resolve() answers the branch, null and HEAD alike, and names in any case", async (opened) => {
    const { source, name, sample } = opened;
    const named = await resolve(opened);
    assertEquals([named.name, named.branch], [name, sample.branch]);
    assert(/^[0-9a-f]{40}$/.test(named.commit), named.commit);
    assertEquals(named.ref.commit, named.commit);
    assertEquals(named.checkedAtMs, sample.clock.now());
    const byDefault = await source.resolve({ ...name, branch: null }, uncharged);
    assertEquals([byDefault.commit, byDefault.branch], [named.commit, sample.branch]);
    const head = await source.resolve({ ...name, branch: "HEAD" }, uncharged);
    assertEquals(head.commit, named.commit);
    const upper = { owner: name.owner.toUpperCase(), repo: name.repo.toUpperCase() };
    const shouted = await source.resolve({ ...upper, branch: sample.branch }, uncharged);
    assertEquals([shouted.name, shouted.commit], [upper, named.commit]);
  });

  test("resolve() finds no repository and no branch that does not exist", async (opened) => {
    const { source, name, sample } = opened;
    for (const branch of ["absent", "feature/absent", sample.branch.toUpperCase(), noId]) {
      const resolving = source.resolve({ ...name, branch }, uncharged);
      const error = await assertRejects(() => resolving, CollectionsError, `"${sample.branch}"`);
      assertEquals(error.code, "branch-not-found");
    }
    for (const branch of [null, "main", "HEAD"]) {
      const resolving = source.resolve({ ...name, repo: "absent", branch }, uncharged);
      const error = await assertRejects(() => resolving, CollectionsError);
      assertEquals(error.code, "repository-not-found");
    }
    const context = { ...uncharged, signal: AbortSignal.abort(new Error("left")) };
    await assertRejects(() => source.resolve({ ...name, branch: null }, context));
  });

  test("resolve() sees a new commit once its check is no longer fresh", async (opened) => {
    const { source, sample } = opened;
    const before = await resolve(opened);
    const again = await resolve(opened);
    sample.clock.advance(before.ref.freshForMs);
    const same = await resolve(opened);
    await commitFiles(sample.git, { "posts/new.md": "New\n", "posts/hello.md": null });
    sample.clock.advance(before.ref.freshForMs);
    const after = await resolve(opened);

    assertEquals([again.commit, same.commit], [before.commit, before.commit]);
    assert(after.commit !== before.commit);
    if (opened.isCached) {
      const freshness = [before, again, same, after].map((snapshot) => snapshot.freshness);
      assertEquals(freshness, ["miss", "hit", "revalidated", "moved"]);
      assert(before.ref === after.ref, "one live state a ref");
    }
    assertEquals(after.ref.commit, after.commit);
    const posts = await folderAt(opened, "posts");
    const files = await source.files(after, posts, uncharged);
    assertEquals(filesOf(files), await expectedFiles(sample, "posts"));
  });

  test("tree() and files() give what git ls-tree gives, and fail for an id that names nothing", async (opened) => {
    const { source, sample } = opened;
    const snapshot = await resolve(opened);
    for (const path of ["", "posts", "posts/2026", "bytes"]) {
      const id = await folderAt(opened, path);
      const entries = await source.tree(snapshot, id, uncharged);
      const listed = await expectedEntries(sample, path);
      assertEquals(entries.filter(({ name }) => !name.startsWith(".")).map(comparable), listed);
      const files = await source.files(snapshot, id, uncharged);
      assertEquals(filesOf(files), await expectedFiles(sample, path), `"${path}"`);
    }
    await assertRejects(() => source.tree(snapshot, noId, uncharged), CollectionsError);
    await assertRejects(() => source.files(snapshot, noId, uncharged), CollectionsError);
  });

  test("blobs() gives the bytes that git cat-file gives, and an Error for a missing file", async (opened) => {
    const { source, sample } = opened;
    const files = await expectedFiles(sample, "");
    assertEquals(files.length, Object.keys(sampleFiles).length, "one is hidden, a script is added");
    const snapshot = await resolve(opened);
    const absent = { path: "posts/absent.md", id: noId, size: 5 };
    const blobs = await source.blobs(snapshot, [absent, ...files], uncharged);
    for (const { path, id } of files) {
      const bytes = blobs.get(id);
      assertInstanceOf(bytes, Uint8Array, path);
      assertEquals(bytes, await sample.git.blob(id), path);
      assertEquals(blobId(bytes), id, path);
    }
    assertInstanceOf(blobs.get(noId), Error);
    assertEquals(blobs.size, new Set(files.map(({ id }) => id)).size + 1);
    assertEquals(await source.blobs(snapshot, [], uncharged), new Map());
  });
}

type Opened = OpenedSource & { readonly sample: SampleRepository };

async function makeSample(): Promise<SampleRepository> {
  const root = await Deno.makeTempDir({ prefix: "repository_suite_" });
  const repo = "Sample";
  const branch = "main";
  await Deno.mkdir(`${root}/${repo}`);
  await new GitRepository(`${root}/${repo}`).git("init", "--quiet", `--initial-branch=${branch}`);
  const git = new GitRepository(`${root}/${repo}`);
  await commitFiles(git, sampleFiles);
  await Deno.symlink("hello.md", `${git.dir}/posts/link.md`);
  await Deno.writeTextFile(`${git.dir}/run.sh`, "#!/bin/sh\n");
  await Deno.chmod(`${git.dir}/run.sh`, 0o755);
  await git.git("add", "--all");
  await git.git("commit", "--quiet", "--message", "Add a link and a script");
  return {
    git,
    root,
    repo,
    branch,
    // A minute ahead, so that what was written just now counts as old.
    clock: new TestClock(Date.now() + 60_000),
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
  };
}

/** Commits changes, which the files of the working tree follow. */
async function commitFiles(
  git: GitRepository,
  changes: Record<string, string | Uint8Array | null>,
): Promise<void> {
  await git.commit(changes);
  await git.git("reset", "--quiet", "--hard");
}

function resolve({ source, name, sample }: Opened) {
  return source.resolve({ ...name, branch: sample.branch }, uncharged);
}

/** The tree id of a folder, found as a use case finds it: from the root down. */
async function folderAt(opened: Opened, path: string): Promise<string> {
  const snapshot = await resolve(opened);
  let id = snapshot.commit;
  for (const segment of path.split("/").filter((segment) => segment !== "")) {
    const entries = await opened.source.tree(snapshot, id, uncharged);
    const entry = entries.find(({ name }) => name === segment);
    assertEquals(entry?.kind, "folder", path);
    id = entry!.id;
  }
  return id;
}

function comparable({ name, kind, id, size }: TreeEntry) {
  return { name, kind, id, size: kind === "file" ? size : null };
}

async function expectedEntries({ git }: SampleRepository, path: string) {
  const output = await git.git("ls-tree", "-l", "-z", `HEAD:${path}`);
  const kinds: Record<string, string> = { "040000": "folder", "120000": "symbolic link" };
  return output.split("\0").filter((line) => line !== "").map((line) => {
    const [, mode, id, size, name] = /^(\d+) \w+ (\w+) +(\d+|-)\t(.*)$/s.exec(line)!;
    const kind = kinds[mode!] ?? "file";
    return { name: name!, kind, id: id!, size: kind === "file" ? Number(size) : null };
  }).filter(({ name }) => !name.startsWith("."));
}

async function expectedFiles({ git }: SampleRepository, path: string): Promise<FileRef[]> {
  const prefix = path === "" ? 0 : path.length + 1;
  const isListed = (entry: ListedEntry) => entry.mode !== "120000" && !/(^|\/)\./.test(entry.path);
  return (await git.lsTree("HEAD", path)).filter(isListed)
    .map(({ path, oid, size }) => ({ path: path.slice(prefix), id: oid, size: size! }));
}

function filesOf(list: FileList | null): FileRef[] {
  assert(list !== null);
  return Array.from({ length: list.length }, (_, index) => list.at(index));
}
