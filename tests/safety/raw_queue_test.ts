// The raw host is asked for a few files at once; behind one that hangs nothing may pile up.

import { assert, assertEquals } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { serveRepository } from "../github/served_repository.ts";
import { openGitHub } from "../repository/github_source.ts";
import { TestClock } from "../test_clock.ts";

const PAGES = 80;
const FILES = 8;

Deno.test("a raw host that hangs is waited for by a bounded number of files", async () => {
  await using served = await serveRepository({ "a.md": "" }, { assert: false });
  const { gh } = served;
  const repository = openGitHub(gh, { clock: new TestClock() });
  const caller = { miss() {} };
  const snapshot = await repository.resolve({ owner: "octo", repo: "site", branch: null }, caller);
  gh.fault = { kind: "hang", only: ["raw"] };

  let files = 0;
  const read = async () => {
    const wanted = Array.from({ length: FILES }, () => {
      const id = (++files).toString(16).padStart(40, "0");
      return { path: `${files}.md`, id, size: 1 };
    });
    return await repository.readBlobs(snapshot, wanted, caller);
  };
  const pages = Array.from({ length: PAGES }, read);
  await gh.log.until(() => gh.pauses.waiting === 8);
  gh.fault = { kind: "status", status: 404, only: ["raw", "blob"] };
  gh.pauses.release();

  const results = (await Promise.all(pages)).flatMap((page) => [...page.values()]);
  const codes = results.map((result) =>
    result instanceof CollectionsError ? result.code : "another"
  );
  assertEquals(results.length, PAGES * FILES);
  assertEquals(codes.includes("another"), false);
  const busy = codes.filter((code) => code === "service-busy").length;
  assert(busy >= PAGES * FILES - 8 - 512, `${busy}`);
});
