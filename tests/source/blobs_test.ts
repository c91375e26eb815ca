import { assert, assertEquals } from "@std/assert";
import { fitsBatch, planBatches } from "../../lib/source/github/blobs.ts";
import { timeOutHangs } from "../github/github_faults.ts";
import { openBlobs, textFiles } from "./blob_reader.ts";

function codes(errors: Record<string, string>): string[] {
  return [...new Set(Object.values(errors))];
}

Deno.test("readBlobs() reads by the raw host at the commit id without a token, at most 8 at once", async () => {
  await using reader = await openBlobs(textFiles(50));
  const { gh, git } = reader;
  // Every request waits until the eighth is there; were there a ninth at once, it would be seen.
  gh.intercept = async () => {
    await gh.log.until(() => gh.log.inFlight === 8 || gh.requests.length >= 48);
    return null;
  };
  assertEquals(await reader.read(), {});
  assertEquals([gh.counts(), gh.maxConcurrent], [{ raw: 50 }, 8]);
  assertEquals(gh.quotaSpent(null), 0);
  const commit = await git.head();
  assert(gh.requests.every(({ path }) => path.startsWith(`/octo/site/${commit}/posts/`)));
});

Deno.test("readBlobs() reads 8 raw files at once over all pages", async () => {
  await using reader = await openBlobs(textFiles(48));
  const { gh, files } = reader;
  gh.intercept = async () => {
    await gh.log.until(() => gh.log.inFlight === 8 || gh.requests.length >= 41);
    return null;
  };
  await Promise.all([reader.read(files.slice(0, 24)), reader.read(files.slice(24))]);
  assertEquals([gh.counts(), gh.maxConcurrent], [{ raw: 48 }, 8]);
});

Deno.test("readBlobs() reads by the blobs API where there is no raw host, at most 8 at once", async () => {
  await using reader = await openBlobs(textFiles(20), { raw: false });
  const { gh } = reader;
  gh.intercept = async () => {
    await gh.log.until(() => gh.log.inFlight === 8 || gh.requests.length >= 13);
    return null;
  };
  assertEquals(await reader.read(), {});
  assertEquals([gh.counts(), gh.maxConcurrent], [{ blob: 20 }, 8]);
});

Deno.test("readBlobs() escapes paths for the raw host", async () => {
  await using reader = await openBlobs({
    "a b/100% + #1?&=.md": "escaped\n",
    "Grüße 🍞.md": "not ASCII\n",
    "back\\slash.md": "a character like any other\n",
  });
  assertEquals(await reader.read(), {});
  assertEquals(reader.gh.counts(), { raw: 3 });
});

Deno.test("readBlobs() turns to the API for what the raw host lacks, for three files of a page", async () => {
  await using reader = await openBlobs(textFiles(20));
  const { gh, files } = reader;
  const bad = new Set(files.slice(0, 3).map(({ path }) => path));
  gh.faultWhen(({ kind, path }) =>
    kind === "raw" && [...bad].some((name) => path.endsWith(name))
      ? { kind: "status", status: 404 }
      : null
  );
  assertEquals(await reader.read(), {});
  assertEquals(gh.counts(), { raw: 20, blob: 3 });

  for (
    const fault of [{ kind: "status", status: 404 }, { kind: "wrong-bytes" }, { kind: "html" }, {
      kind: "reset",
    }] as const
  ) {
    gh.faultWhen(({ kind }) => kind === "raw" ? fault : null);
    const errors = await reader.read();
    assertEquals(codes(errors), ["source-failed"]);
    assertEquals([fault, Object.keys(errors).length, gh.counts().blob], [fault, 17, 3]);
  }
});

Deno.test("readBlobs() gives no bytes that do not hash to their id, and the others all the same", async () => {
  for (const options of [{}, { tokens: ["t1"] }, { raw: false }]) {
    await using reader = await openBlobs(textFiles(5), options);
    const { gh, files } = reader;
    const bad = files[2]!;
    gh.faultWhen(({ kind, path }) =>
      kind === "graphql" || path.endsWith(bad.path) || path.endsWith(bad.id)
        ? { kind: "wrong-bytes" }
        : null
    );
    assertEquals(await reader.read(), { [bad.path]: "source-failed" });
  }
});

Deno.test("readBlobs() stops where the raw host limits, without a request to the API", async () => {
  await using reader = await openBlobs(textFiles(30));
  const { clock, gh } = reader;
  gh.fault = { kind: "status", status: 429, only: ["raw"] };
  const errors = await reader.read();
  assertEquals(codes(errors), ["source-rate-limited"]);
  assertEquals(Object.keys(errors).length, 30);
  assert(gh.counts().raw! <= 8 && gh.counts().blob === undefined, JSON.stringify(gh.counts()));
  await reader.read();
  assertEquals(gh.counts(), {});
  gh.fault = null;
  clock.advance(60_000);
  assertEquals(await reader.read(), {});
});

Deno.test("readBlobs() stops after a few failures in a row", async () => {
  await using reader = await openBlobs(textFiles(60), { raw: false });
  const { clock, gh } = reader;
  timeOutHangs(clock, gh);
  for (
    const [kind, code] of [["hang", "source-timeout"], ["reset", "source-failed"], [
      "garbage",
      "source-failed",
    ]] as const
  ) {
    gh.fault = { kind, only: ["blob"] };
    const errors = await reader.read();
    assertEquals([kind, codes(errors), Object.keys(errors).length], [kind, [code], 60]);
    assert(gh.counts().blob! <= 20, `${kind}: ${gh.counts().blob} requests`);
  }
});

const file = (size: number, path = "a.md") => ({ path, id: `${size}`, size });
const withToken = { tokens: ["t1"] };

Deno.test("planBatches() bounds batches by 50 files and 1 MiB, in order", () => {
  const sizes = (files: readonly { size: number }[][]) => files.map((batch) => batch.length);
  assertEquals(planBatches([]), []);
  assertEquals(sizes(planBatches(Array.from({ length: 101 }, () => file(10)))), [50, 50, 1]);
  const large = Array.from({ length: 5 }, () => file(400_000));
  assertEquals(sizes(planBatches(large)), [2, 2, 1]);
  assertEquals(sizes(planBatches([file(1 << 20), file(1), file((1 << 20) - 1)])), [1, 2]);
  assertEquals(planBatches(large).flat(), large);
});

Deno.test("fitsBatch() takes text that GraphQL gives whole", () => {
  for (const path of ["a.md", "b.json", "c.yaml", "d.svg", "e.mdx", "LICENSE", "f.ts", "g.toml"]) {
    assertEquals([path, fitsBatch(file(10, path))], [path, true]);
  }
  for (const path of ["a.png", "b.pdf", "c.woff2", "d.zip", "e.mp4"]) {
    assertEquals([path, fitsBatch(file(10, path))], [path, false]);
  }
  assertEquals([fitsBatch(file(512_000)), fitsBatch(file(512_001))], [true, false]);
});

Deno.test("readBlobs() reads 50 small text files in one query of one point", async () => {
  await using reader = await openBlobs(textFiles(50), withToken);
  assertEquals(await reader.read(), {});
  assertEquals(reader.gh.counts(), { graphql: 1 });
  assertEquals([reader.gh.quotaSpent("t1"), reader.gh.quotaSpent("t1", "graphql")], [0, 1]);
});

Deno.test("readBlobs() halves a batch that fails, until it comes through", async () => {
  await using reader = await openBlobs(textFiles(50, 10_000), withToken);
  reader.gh.graphqlMaxBytes = 260_000;
  assertEquals(await reader.read(), {});
  assertEquals(reader.gh.counts(), { graphql: 3 });
  reader.gh.graphqlMaxBytes = 130_000;
  assertEquals(await reader.read(), {});
  assertEquals(reader.gh.counts(), { graphql: 1 + 2 + 4 });
});

Deno.test("readBlobs() requests again what a partial answer left out", async () => {
  await using reader = await openBlobs(textFiles(50), withToken);
  reader.gh.graphqlMaxObjects = 20;
  assertEquals(await reader.read(), {});
  assertEquals(reader.gh.counts(), { graphql: 3 });
});

Deno.test("readBlobs() leaves what GraphQL cannot give exactly to the blobs API", async () => {
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
  assertEquals(await reader.read(), {});
  assertEquals(reader.gh.counts(), { graphql: 1, blob: 4 });
  reader.gh.graphqlStripsBom = true;
  assertEquals(await reader.read(), {});
  assertEquals(reader.gh.counts(), { graphql: 1, blob: 5 });
});

Deno.test("readBlobs() takes no text that does not hash to its id", async () => {
  await using reader = await openBlobs(textFiles(4), withToken);
  reader.gh.fault = { kind: "wrong-bytes", only: ["graphql"] };
  assertEquals(await reader.read(), {});
  assertEquals(reader.gh.counts(), { graphql: 1, blob: 4 });
});

Deno.test("readBlobs() gives up after a few failures, garbled and empty answers", async () => {
  await using reader = await openBlobs(textFiles(40), withToken);
  const { gh } = reader;
  for (const kind of ["garbage", "html", "reset"] as const) {
    gh.fault = { kind, only: ["graphql"] };
    assertEquals(await reader.read(), {});
    assertEquals([kind, gh.counts()], [kind, { graphql: 6, blob: 40 }]);
  }
  gh.fault = null;
  gh.graphqlMaxObjects = 0;
  assertEquals(await reader.read(), {});
  assertEquals(gh.counts(), { graphql: 6, blob: 40 });
});

Deno.test("readBlobs() gives up after two time-outs, and on an answer with a time to retry", async () => {
  await using reader = await openBlobs(textFiles(12), withToken);
  const { clock, gh } = reader;
  timeOutHangs(clock, gh);
  gh.fault = { kind: "hang", only: ["graphql"] };
  assertEquals(await reader.read(), {});
  assertEquals(gh.counts(), { graphql: 2, blob: 12 });
  gh.fault = {
    kind: "status",
    status: 503,
    headers: { "retry-after": "60" },
    only: ["graphql"],
  };
  assertEquals(await reader.read(), {});
  assertEquals(gh.counts(), { graphql: 1, blob: 12 });
});

Deno.test("readBlobs() continues with the next token when GraphQL's quota is spent, whatever the status", async () => {
  for (const status of [200, 403] as const) {
    await using reader = await openBlobs(textFiles(10), { tokens: ["t1", "t2"] });
    const { gh } = reader;
    gh.graphqlQuotaStatus = status;
    gh.setQuota("t1", { resource: "graphql", remaining: 0 });
    assertEquals(await reader.read(), {});
    assertEquals(gh.counts(), { graphql: 2 });
    assertEquals(await reader.read(), {});
    assertEquals(gh.counts(), { graphql: 1 });

    gh.setQuota("t2", { resource: "graphql", remaining: 0 });
    assertEquals(await reader.read(), {});
    assertEquals(gh.counts(), { graphql: 1, blob: 10 });
    assertEquals(await reader.read(), {});
    assertEquals(gh.counts(), { blob: 10 }, "the client knows that all are spent");
  }
});

Deno.test("readBlobs() is not used for one file, nor without a token", async () => {
  await using one = await openBlobs(textFiles(1), withToken);
  assertEquals(await one.read(), {});
  assertEquals(one.gh.counts(), { blob: 1 });
  await using none = await openBlobs(textFiles(5), { raw: false });
  assertEquals(await none.read(), {});
  assertEquals(none.gh.counts(), { blob: 5 });
});

Deno.test("readBlobs() requests a content once, however many files have it", async () => {
  const files = textFiles(20).map(([path], index) => [path, `${index % 2}\n`] as const);
  await using reader = await openBlobs(files, withToken);
  assertEquals(await reader.read(), {});
  assertEquals(reader.gh.counts(), { graphql: 1 });
  assert(reader.gh.requests[0]!.bytes < 300);
});
