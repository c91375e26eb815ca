import { assert, assertEquals } from "@std/assert";
import { timeOutHangs } from "../github/time_out_hangs.ts";
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
