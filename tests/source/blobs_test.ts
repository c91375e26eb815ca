import { assert, assertEquals } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { type Fault, timeOutHangs } from "../github/github_faults.ts";
import type { GitFiles } from "../github/git_repository.ts";
import { serveRepository } from "../github/served_repository.ts";
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

Deno.test("readBlobs() asks the API for what the raw host lacks", async () => {
  await using reader = await openBlobs(textFiles(20));
  const { gh, files } = reader;
  const missing: Fault = { kind: "status", status: 404 };
  gh.fault = ({ kind, path }) =>
    kind === "raw" && files.slice(0, 3).some((file) => path.endsWith(file.path))
      ? missing
      : null;
  assertEquals(await reader.cost(), { raw: 20, blob: 3 });

  const faults: Fault[] = [missing, { kind: "wrong-bytes" }, { kind: "html" }, {
    kind: "reset",
  }];
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
  const cases: [options: OpenFor, fault: Fault, code: string, most: number][] =
    [
      [{ raw: false }, { kind: "hang", only: ["blob"] }, "source-timeout", 20],
      [
        { raw: false },
        { kind: "garbage", only: ["blob"] },
        "source-failed",
        20,
      ],
    ];
  for (const [options, fault, code, most] of cases) {
    await using reader = await openBlobs(textFiles(30), options);
    const { clock, gh } = reader;
    timeOutHangs(clock, gh);
    gh.fault = fault;
    assertEquals(summary(await reader.read()), [[code], 30]);
    assertEquals(Object.keys(gh.counts()), fault.only);
    assert(gh.requests.length <= most, `${gh.requests.length} requests`);
    gh.fault = null;
    clock.advance(60_000);
    assertEquals(await reader.read(), {});
  }
});

Deno.test("readBlobs() uses the API while the raw host limits", async () => {
  for (const retryAfterSeconds of [null, 90]) {
    await using reader = await openBlobs(textFiles(60));
    const { clock, files, gh } = reader;
    gh.rawLimit = { perMinute: 10, retryAfterSeconds };
    assertEquals(await reader.read(files.slice(0, 30)), {});
    const { raw = 0, blob } = gh.counts();
    assert(raw < 10 + 8 + 1, `${raw} requests to the raw host`);
    assertEquals(blob, 20);
    // 39 of 60 are left, and 20 are kept.
    const [codes, count] = summary(await reader.read(files.slice(30)));
    assertEquals([codes, gh.counts().raw], [
      ["source-rate-limited"],
      undefined,
    ]);
    assert(count >= 3 && count <= 11, `${count} failed`);
    assert(gh.quota(null).remaining >= 11, `${gh.quota(null).remaining} left`);
    gh.rawLimit = null;
    clock.advance((retryAfterSeconds ?? 60) * 1000);
    assertEquals(await reader.cost(), { raw: 60 });
  }
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
  const names = "LICENSE a.md b.json c.yaml d.svg e.mdx f.ts g.toml " +
    "h.constructor i.__proto__ j.toString";
  const others = "a.png b.pdf c.woff2 d.zip e.mp4";
  const files = Object.fromEntries(
    `${names} ${others}`.split(" ").map((name) => [name, name]),
  );
  const long = { "x.md": "x".repeat(512_000), "y.md": "y".repeat(512_001) };
  await using reader = await openBlobs({ ...files, ...long }, withToken);
  let query = "";
  reader.gh.intercept = async (request, { kind }) => {
    if (kind === "graphql") query = await request.clone().text();
    return null;
  };
  assertEquals(await reader.cost(), { graphql: 1, blob: 6 });
  const asked = reader.files.filter(({ id }) => query.includes(id));
  assertEquals(asked.map(({ path }) => path), [...names.split(" "), "x.md"]);
});

Deno.test("readBlobs() reads small texts in a query of one point", async () => {
  await using reader = await openBlobs(textFiles(20), withToken);
  const { gh } = reader;
  assertEquals([await reader.cost(), gh.quota("t1", "graphql").spent], [{
    graphql: 1,
  }, 1]);
  assertEquals(await reader.cost(reader.files.slice(0, 1)), { blob: 1 });
});

Deno.test("readBlobs() leaves inexact texts to the blobs API", async () => {
  const files: Record<string, string | Uint8Array> = {
    ...Object.fromEntries(textFiles(10)),
    "long.md": "x".repeat(512_001),
    "latin-1.md": Uint8Array.of(0x47, 0x72, 0xfc, 0xdf, 0x65),
    "binary.md": Uint8Array.of(0x00, 0x01, 0x02),
    "picture.png": Uint8Array.of(0x89, 0x50, 0x4e, 0x47),
    "bom.md": "\ufeff# With a mark\n",
    "empty.md": "",
  };
  await using reader = await openBlobs(files, withToken);
  assertEquals(await reader.cost(), { graphql: 1, blob: 4 });
  reader.gh.graphqlStripsBom = true;
  assertEquals(await reader.cost(), { graphql: 1, blob: 5 });
});

Deno.test("readBlobs() reads the files of a failed batch one by one", async () => {
  await using reader = await openBlobs(textFiles(40), withToken);
  const { clock, cost, gh } = reader;
  timeOutHangs(clock, gh);
  for (
    const kind of ["garbage", "html", "reset", "wrong-bytes", "hang"] as const
  ) {
    gh.fault = { kind, only: ["graphql"] };
    assertEquals([kind, await cost()], [kind, { graphql: 1, blob: 40 }]);
  }
  gh.fault = null;
  gh.graphqlMaxObjects = 0;
  assertEquals(await cost(), { graphql: 1, blob: 40 });
  // What a partial answer left out is requested again.
  gh.graphqlMaxObjects = 15;
  assertEquals(await cost(), { graphql: 3 });
});

Deno.test("readBlobs() spares the API while GraphQL is limited", async () => {
  const files = {
    ...Object.fromEntries(textFiles(30)),
    "picture.png": Uint8Array.of(0x89, 0x50),
  };
  await using reader = await openBlobs(files, { ...withToken, raw: false });
  const { clock, gh } = reader;
  gh.quota("t1", "graphql").remaining = 0;
  for (const graphql of [1, 0]) {
    assertEquals(summary(await reader.read()), [["source-rate-limited"], 30]);
    assertEquals(gh.counts(), { ...graphql > 0 && { graphql }, blob: 1 });
  }
  clock.advance(3_600_000);
  assertEquals(await reader.cost(), { graphql: 1, blob: 1 });
});
