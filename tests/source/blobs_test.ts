import { assert, assertEquals } from "@std/assert";
import { CollectionsError, serviceBusy } from "../../lib/errors.ts";
import type { Compute } from "../../lib/thread/compute.ts";
import { type Fault, timeOutHangs } from "../github/github_faults.ts";
import type { GitFiles } from "../github/git_repository.ts";
import { serveRepository, watchBlobs } from "../github/served_repository.ts";
import { TestClock, turns } from "../test_clock.ts";
import {
  openGitHub,
  type OpenOptions,
  textFiles,
  uncharged,
} from "./open_github.ts";

const withToken = { tokens: ["t1"] };

type OpenFor = Omit<OpenOptions, "clock">;

/**
 * A double with these files as `octo/site`, and a reader of it without caches.
 */
async function openBlobs(contents: GitFiles, options: OpenFor = {}) {
  const clock = new TestClock();
  const served = await serveRepository(contents, { now: clock.now });
  const { gh, repository: git } = served;
  for (const token of options.tokens ?? []) gh.addToken(token);
  const source = openGitHub(gh, { clock, ...options });
  const entries = await git.lsTree("HEAD");
  const files = entries.map(({ path, oid, size }) => ({
    path,
    id: oid,
    size: size!,
  }));
  const snapshot = await source.resolve({
    owner: "octo",
    repo: "site",
    branch: null,
  }, uncharged);
  /**
   * Reads these files and compares their bytes; counts begin anew. Gives the
   * codes of errors by path.
   */
  const read = async (wanted = files): Promise<Record<string, string>> => {
    gh.resetCounts();
    const blobs = await source.blobs(snapshot, wanted, uncharged);
    const errors: Record<string, string> = {};
    for (const { path, id } of wanted) {
      const result = blobs.get(id);
      if (result instanceof CollectionsError) errors[path] = result.code;
      else assertEquals(result, await git.blob(id), path);
    }
    return errors;
  };
  /** What it costs to read all files, or these, of which none fails. */
  const cost = async (wanted = files) => {
    assertEquals(await read(wanted), {});
    return gh.counts();
  };
  return { ...served, clock, files, read, cost };
}

/** Each different code of errors, and how many errors there are. */
function summary(
  errors: Record<string, string>,
): [codes: string[], count: number] {
  const codes = Object.values(errors);
  return [[...new Set(codes)], codes.length];
}

Deno.test("readBlobs() uses the raw host without a token, 8 at once", async () => {
  await using reader = await openBlobs(textFiles(48));
  const { gh, files, repository } = reader;
  const held = Promise.withResolvers<null>();
  gh.intercept = () => held.promise;
  const pages = Promise.all([
    reader.read(files.slice(0, 24)),
    reader.read(files.slice(24)),
  ]);
  await gh.log.until(() => gh.log.inFlight === 8);
  // Were there more at once, they would be seen.
  await turns(20);
  held.resolve(null);
  assertEquals(await pages, [{}, {}]);
  assertEquals([gh.counts(), gh.log.maxConcurrent, gh.quota(null).spent], [
    { raw: 48 },
    8,
    0,
  ]);
  const folder = `/raw/octo/site/${await repository.head()}/posts/`;
  assert(gh.requests.every(({ path }) => path.startsWith(folder)));
});

Deno.test("readBlobs() gives up the raw host after a few failures", async () => {
  await using reader = await openBlobs(textFiles(20));
  const { gh } = reader;
  const faults: Fault[] = [
    { kind: "status", status: 404 },
    { kind: "wrong-bytes" },
    { kind: "reset" },
  ];
  for (const fault of faults) {
    gh.fault = ({ kind }) => kind === "raw" ? fault : null;
    assertEquals(summary(await reader.read()), [["source-failed"], 17]);
    assertEquals([fault, gh.counts().blob], [fault, 3]);
  }
});

Deno.test("readBlobs() gives no bytes that have another id", async () => {
  for (const options of [{}, withToken, { raw: false }]) {
    await using reader = await openBlobs(textFiles(5), options);
    const { path, id } = reader.files[2]!;
    reader.gh.fault = (request) =>
      request.kind === "graphql" || request.path.endsWith(path) ||
        request.path.endsWith(id)
        ? { kind: "wrong-bytes" }
        : null;
    assertEquals(await reader.read(), { [path]: "source-failed" });
  }
});

Deno.test("readBlobs() stops after a few failures in a row", async () => {
  await using reader = await openBlobs(textFiles(30), { raw: false });
  const { clock, gh } = reader;
  timeOutHangs(clock, gh);
  gh.fault = { kind: "hang" };
  assertEquals(summary(await reader.read()), [["source-timeout"], 30]);
  assert(gh.requests.length <= 20, `${gh.requests.length} requests`);
  gh.fault = null;
  assertEquals(await reader.read(), {});
});

// Recorded: artifacthub/hub#4397, denoland/deno#29366 and, with Retry-After,
// algolia/npm-search#993.
Deno.test("readBlobs() uses the API while the raw host limits", async () => {
  await using reader = await openBlobs(textFiles(60));
  const { clock, files, gh } = reader;
  gh.rawLimit = { perMinute: 10, retryAfterSeconds: 90 };
  assertEquals(await reader.read(files.slice(0, 30)), {});
  assertEquals(gh.counts().blob, 20);
  // 39 of 60 are left, and 20 are kept.
  const [codes, count] = summary(await reader.read(files.slice(30)));
  assertEquals(codes, ["source-rate-limited"]);
  assertEquals(gh.counts().raw, undefined);
  assert(count >= 3 && count <= 11, `${count} failed`);
  gh.rawLimit = null;
  clock.advance(90_000);
  assertEquals(await reader.cost(), { raw: 60 });
});

Deno.test("readBlobs() reads 50 files or 1 MiB in a query", async () => {
  await using many = await openBlobs(textFiles(101), withToken);
  assertEquals(await many.cost(), { graphql: 3 });
  const large = ["a", "b", "c", "d", "e"].map((name) =>
    [`${name}.md`, name.repeat(400_000)] as const
  );
  await using reader = await openBlobs(large, withToken);
  assertEquals(await reader.cost(), { graphql: 3 });
});

Deno.test("readBlobs() reads what may be text in queries", async () => {
  const texts = "LICENSE a.md b.json c.yaml d.svg e.mdx f.ts g.toml " +
    "h.constructor i.__proto__";
  const others = "a.png b.pdf c.woff2 d.zip e.mp4";
  const names = `${texts} ${others}`.split(" ");
  const files = Object.fromEntries(names.map((name) => [name, name]));
  const long = { "x.md": "x".repeat(512_000), "y.md": "y".repeat(512_001) };
  await using reader = await openBlobs({ ...files, ...long }, withToken);
  const requested = watchBlobs(reader.gh);
  assertEquals(await reader.cost(), { graphql: 1, blob: 6 });
  const alone = reader.files.filter(({ id }) =>
    requested.slice(-6).includes(id)
  );
  const expected = [...others.split(" "), "y.md"];
  assertEquals(alone.map(({ path }) => path), expected.toSorted());
});

Deno.test("readBlobs() spends no quota on batches that find no room", async () => {
  const compute: Compute = {
    run: () => Promise.reject(serviceBusy("Cannot wait: full")),
  };
  const options = { ...withToken, compute };
  for (const raw of [true, false]) {
    await using reader = await openBlobs(textFiles(40), { ...options, raw });
    const failed = raw ? [[], 0] : [["service-busy"], 40];
    assertEquals(summary(await reader.read()), failed);
    const counts = raw ? { graphql: 1, raw: 40 } : { graphql: 1 };
    assertEquals(reader.gh.counts(), counts);
  }
});

Deno.test("readBlobs() reads the files of a failed batch one by one", async () => {
  await using reader = await openBlobs(textFiles(40), withToken);
  const { clock, cost, gh } = reader;
  timeOutHangs(clock, gh);
  for (const kind of ["garbage", "reset", "wrong-bytes", "hang"] as const) {
    gh.fault = { kind, only: ["graphql"] };
    assertEquals([kind, await cost()], [kind, { graphql: 1, blob: 40 }]);
  }
  gh.fault = null;
  // What a partial answer left out is requested again.
  gh.graphqlMaxObjects = 15;
  assertEquals(await cost(), { graphql: 3 });
});
