// Each row of the contract's table of errors, caused for real. The test service checks what all problems have in common.

import { assert, assertEquals } from "@std/assert";
import { problemBody } from "../../lib/api/contract.ts";
import { ERRORS } from "../../lib/errors.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";
import { problemRows } from "./problem_rows.ts";

/** Things that must not leave: a token, and what the source or a fault of the service says. */
const CANARIES = ["ghp_canaryToken", "canaryUpstream", "canaryFault"];

/** Codes with tests of their own below, and those of operations that do not exist yet. */
const OTHERS = [
  ...["service-busy", "collection-too-large"],
  ...["signature-invalid", "body-too-large", "slug-ambiguous"],
];

Deno.test("every code of the table has a cause", () => {
  const caused = new Set([...problemRows.map(({ code }) => code), ...OTHERS]);
  assertEquals([...caused].toSorted(), Object.keys(ERRORS).toSorted());
});

for (const [index, row] of problemRows.entries()) {
  Deno.test(`problem ${row.status} ${row.code}, cause ${index + 1}`, async () => {
    await using site = await startSite({
      "posts/a.md": "# A\n",
      "more/large.bin": new Uint8Array((1 << 20) + 1),
    }, {
      ...row.options,
      env: { GITHUB_TOKEN: "ghp_canaryToken", ...row.options?.env },
    });
    site.gh.addToken("ghp_canaryToken", { sees: "all" });
    await row.arrange?.(site);

    const response = await site.service.get(row.path, row.init);

    assertEquals(response.status, row.status);
    const text = await response.text();
    const problem = problemBody.parse(JSON.parse(text));
    assertEquals(problem.code, row.code);
    assertEquals(problem.type, `http://localhost:8000/problems/${row.code}`);
    assertEquals(problem.retryAfterSeconds, row.retryAfter);
    row.check?.(problem, response);
    for (const canary of CANARIES) {
      assert(!`${text}${site.service.logText}`.includes(canary), `"${canary}" got out`);
    }
  });
}

Deno.test("problem 503 service-busy, when the queue to the source is full", async () => {
  await using site = await startSite({ "posts/a.md": "# A\n" }, {
    env: { MISSES_PER_MINUTE: "0" },
  });
  const { gh, service } = site;
  gh.fault = { kind: "hang" };
  const gone = new AbortController();

  // 64 are sent, 512 of one client wait, and the one after that is refused.
  const responses = Array.from(
    { length: 577 },
    (_, n) => service.get(listPath({ repo: `r${n}` }), { signal: gone.signal }),
  );
  const response = await Promise.race(responses);

  assertEquals([response.status, response.headers.get("retry-after")], [503, "1"]);
  assertEquals((await response.json()).code, "service-busy");
  gone.abort();
  await Promise.allSettled(responses);
});

Deno.test("problem 422 collection-too-large, for a folder of folders without end", async () => {
  const root = await Deno.makeTempDir();
  await Deno.mkdir(`${root}/deep/${"a/".repeat(102)}`, { recursive: true });
  await Deno.writeTextFile(`${root}/deep/${"a/".repeat(102)}a.md`, "");
  try {
    await using site = await startSite({ a: "" }, { env: { LOCAL_REPOS_DIR: root } });

    const path = listPath({ owner: "local", repo: "deep", collection: "a" });
    const response = await site.service.get(path);

    assertEquals(response.status, 422);
    const problem = await response.json();
    assertEquals(problem.code, "collection-too-large");
    assert(!JSON.stringify(problem).includes(root));
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
