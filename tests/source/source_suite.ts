// What every implementation of the repository port has to hold, whatever it reads from. The repository is a real one,
// checked out, and all that is expected comes from the git command.

import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { CollectionsError, type ErrorCode } from "../../lib/errors.ts";
import type { FileList } from "../../lib/repository/file_list.ts";
import { blobId } from "../../lib/repository/git_object_id.ts";
import type {
  Caller,
  FileRef,
  Repository,
  RepositoryName,
  TreeEntry,
} from "../../lib/repository/repository.ts";
import { GitRepository, type ListedEntry } from "../github/git_repository.ts";

/** A repository on disk to open, and the time that its reader is to go by. */
export interface SampleRepository extends AsyncDisposable {
  /** Checked out on `branch`; `git.dir` is the working tree, a folder named `repo` directly below `root`. */
  readonly git: GitRepository;
  readonly root: string;
  readonly repo: string;
  readonly branch: string;
  readonly now: () => number;
  /** Lets time pass. */
  advance(ms: number): void;
}

/** An implementation over a {@linkcode SampleRepository}. */
export interface OpenedRepository extends AsyncDisposable {
  readonly repository: Repository;
  /** What the sample is called here; with another `repo` there is nothing. */
  readonly name: RepositoryName;
  /** Whether a ref is asked for again only once its check is no longer fresh, which then changes in place. */
  readonly keepsRefs: boolean;
}

/** A caller who may cause as many misses as needed. */
export const freeCaller: Caller = { miss() {} };

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
export function testRepository(
  name: string,
  open: (sample: SampleRepository) => Promise<OpenedRepository>,
): void {
  const test = (behaviour: string, body: (opened: Opened) => Promise<void>) =>
    Deno.test(`${name}: ${behaviour}`, async () => {
      await using sample = await makeSample();
      await using opened = await open(sample);
      await body({ ...opened, sample });
    });

  test("resolve() answers the branch, null and HEAD alike", async (opened) => {
    const { repository, name, sample } = opened;
    const named = await resolve(opened);
    assertEquals(named.name, name);
    assertEquals(named.branch, sample.branch);
    assert(/^[0-9a-f]{40}$/.test(named.commit), named.commit);
    assertEquals(named.check.commit, named.commit);
    assertEquals(named.askedAtMs, sample.now());
    const byDefault = await repository.resolve({ ...name, branch: null }, freeCaller);
    assertEquals([byDefault.commit, byDefault.branch], [named.commit, sample.branch]);
    const head = await repository.resolve({ ...name, branch: "HEAD" }, freeCaller);
    assertEquals(head.commit, named.commit);
  });

  test("resolve() compares owner and repo without case and echoes them", async (opened) => {
    const upper = {
      owner: opened.name.owner.toUpperCase(),
      repo: opened.name.repo.toUpperCase(),
    };
    const question = { ...upper, branch: opened.sample.branch };
    const snapshot = await opened.repository.resolve(question, freeCaller);
    assertEquals(snapshot.name, upper);
    assertEquals(snapshot.commit, (await resolve(opened)).commit);
  });

  test("resolve() names the default branch where another is missing", async (opened) => {
    const { repository, name, sample } = opened;
    for (const branch of ["absent", "feature/absent", sample.branch.toUpperCase(), noId]) {
      const asked = repository.resolve({ ...name, branch }, freeCaller);
      const error = await rejectsWith("branch-not-found", asked);
      assert(error.detail.includes(`"${sample.branch}"`), error.detail);
    }
  });

  test("resolve() finds no repository that does not exist", async ({ repository, name }) => {
    for (const branch of [null, "main", "HEAD"]) {
      const asked = repository.resolve({ ...name, repo: "absent", branch }, freeCaller);
      await rejectsWith("repository-not-found", asked);
    }
  });

  test("resolve() sees a new commit once its check is no longer fresh", async (opened) => {
    const { repository, sample } = opened;
    const before = await resolve(opened);
    const again = await resolve(opened);
    sample.advance(before.check.freshMs);
    const same = await resolve(opened);
    await sample.git.commit({ "posts/new.md": "New\n", "posts/hello.md": null });
    sample.advance(before.check.freshMs);
    const after = await resolve(opened);

    assertEquals([again.commit, same.commit], [before.commit, before.commit]);
    assert(after.commit !== before.commit);
    if (opened.keepsRefs) {
      const freshness = [before, again, same, after].map((snapshot) => snapshot.freshness);
      assertEquals(freshness, ["miss", "hit", "revalidated", "moved"]);
      assert(before.check === after.check, "one live check a branch");
    }
    assertEquals(after.check.commit, after.commit);
    const posts = await folderAt(opened, "posts");
    const files = await repository.readTreeRecursive(after, posts, freeCaller);
    assertEquals(filesOf(files), await expectedFiles(sample, "posts"));
  });

  test("readTree() gives the entries that git ls-tree gives", async (opened) => {
    const { repository, sample } = opened;
    const snapshot = await resolve(opened);
    for (const path of ["", "posts", "posts/2026", "bytes"]) {
      const entries = await repository.readTree(
        snapshot,
        await folderAt(opened, path),
        freeCaller,
      );
      const listed = await expectedEntries(sample, path);
      assertEquals(entries.filter(({ name }) => !name.startsWith(".")).map(comparable), listed);
    }
  });

  test("readTreeRecursive() gives the files that git ls-tree -r -l gives", async (opened) => {
    const { repository, sample } = opened;
    const snapshot = await resolve(opened);
    for (const path of ["", "posts", "bytes"]) {
      const id = await folderAt(opened, path);
      const files = await repository.readTreeRecursive(snapshot, id, freeCaller);
      assertEquals(filesOf(files), await expectedFiles(sample, path), `"${path}"`);
    }
  });

  test("readFolders() gives null or the folders that git ls-tree -r -d gives", async (opened) => {
    const { repository, sample } = opened;
    const snapshot = await resolve(opened);
    for (const path of ["", "posts"]) {
      const folders = await repository.readFolders(
        snapshot,
        await folderAt(opened, path),
        freeCaller,
      );
      const output = await sample.git.git("ls-tree", "-r", "-d", `HEAD:${path}`);
      const expected = Array.from(output.matchAll(/^040000 tree (\w+)\t(.*)$/gm))
        .map(([, id, path]) => ({ path: path!, id: id!, size: 0 }));
      if (folders !== null) assertEquals(filesOf(folders), expected, `"${path}"`);
    }
  });

  test("keptFiles() gives the whole list or null, also after keepFiles()", async (opened) => {
    const { repository, sample } = opened;
    const snapshot = await resolve(opened);
    const id = await folderAt(opened, "posts");
    const expected = await expectedFiles(sample, "posts");
    const check = async () => {
      const kept = await repository.keptFiles?.(snapshot, id) ?? null;
      if (kept !== null) assertEquals(filesOf(kept), expected);
    };
    await check();
    const read = await repository.readTreeRecursive(snapshot, id, freeCaller);
    assert(read !== null);
    await check();
    await repository.keepFiles?.(snapshot, id, read);
    await check();
    assertEquals(await repository.keptFiles?.(snapshot, noId) ?? null, null);
  });

  test("readTree() and readTreeRecursive() fail for an id that names nothing", async (opened) => {
    const { repository } = opened;
    const snapshot = await resolve(opened);
    const plain = () => repository.readTree(snapshot, noId, freeCaller);
    await assertRejects(plain, CollectionsError);
    const recursive = () => repository.readTreeRecursive(snapshot, noId, freeCaller);
    await assertRejects(recursive, CollectionsError);
  });

  test("readBlobs() gives the bytes that git cat-file gives", async (opened) => {
    const { repository, sample } = opened;
    const files = await fileRefs(sample);
    assertEquals(files.length, Object.keys(sampleFiles).length, "one is hidden, a script is added");
    const blobs = await repository.readBlobs(await resolve(opened), files, freeCaller);
    for (const { path, id } of files) {
      const bytes = blobs.get(id);
      assertInstanceOf(bytes, Uint8Array, path);
      assertEquals(bytes, await sample.git.blob(id), path);
      assertEquals(blobId(bytes), id, path);
    }
    assertEquals(blobs.size, new Set(files.map(({ id }) => id)).size);
  });

  test("readBlobs() gives an Error for a missing file and the others all the same", async (opened) => {
    const { repository, sample } = opened;
    const files = (await fileRefs(sample)).slice(0, 3);
    const absent = { path: "posts/absent.md", id: noId, size: 5 };
    const snapshot = await resolve(opened);
    const blobs = await repository.readBlobs(snapshot, [absent, ...files], freeCaller);
    assertInstanceOf(blobs.get(noId), Error);
    for (const { id } of files) assertInstanceOf(blobs.get(id), Uint8Array);
    assertEquals(await repository.readBlobs(snapshot, [], freeCaller), new Map());
  });

  test("an aborted caller is not answered", async (opened) => {
    const { repository, name, sample } = opened;
    const caller: Caller = { ...freeCaller, signal: AbortSignal.abort(new Error("left")) };
    const question = { ...name, branch: sample.branch };
    await assertRejects(() => repository.resolve(question, caller));
  });
}

interface Opened {
  readonly repository: Repository;
  readonly name: RepositoryName;
  readonly keepsRefs: boolean;
  readonly sample: SampleRepository;
}

async function makeSample(): Promise<SampleRepository> {
  const root = await Deno.makeTempDir({ prefix: "repository_suite_" });
  const repo = "Sample";
  const branch = "main";
  await Deno.mkdir(`${root}/${repo}`);
  const git = new GitRepository(`${root}/${repo}`, { temporary: true });
  await git.git("init", "--quiet", `--initial-branch=${branch}`);
  await git.commit(sampleFiles, { branch });
  await Deno.symlink("hello.md", `${git.dir}/posts/link.md`);
  await Deno.writeTextFile(`${git.dir}/run.sh`, "#!/bin/sh\n");
  await Deno.chmod(`${git.dir}/run.sh`, 0o755);
  await git.git("add", "--all");
  await git.git("commit", "--quiet", "--message", "Add a link and a script");
  let nowMs = Date.now();
  return {
    git,
    root,
    repo,
    branch,
    now: () => nowMs,
    advance: (ms) => void (nowMs += ms),
    async [Symbol.asyncDispose]() {
      await git[Symbol.asyncDispose]();
      await Deno.remove(root, { recursive: true });
    },
  };
}

function resolve({ repository, name, sample }: Opened) {
  return repository.resolve({ ...name, branch: sample.branch }, freeCaller);
}

async function rejectsWith(code: ErrorCode, asked: Promise<unknown>): Promise<CollectionsError> {
  const error = await assertRejects(() => asked, CollectionsError);
  assertEquals(error.code, code);
  return error;
}

/** The tree id of a folder, found as a use case finds it: from the root down. */
async function folderAt(opened: Opened, path: string): Promise<string> {
  const snapshot = await resolve(opened);
  let id = snapshot.rootTreeId;
  for (const segment of path.split("/").filter((segment) => segment !== "")) {
    const entries = await opened.repository.readTree(snapshot, id, freeCaller);
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

function fileRefs(sample: SampleRepository): Promise<FileRef[]> {
  return expectedFiles(sample, "");
}

function filesOf(list: FileList | null): FileRef[] {
  assert(list !== null);
  return Array.from({ length: list.length }, (_, index) => list.at(index));
}
