// Proves that a double in another process serves and obeys.

import { assertEquals, assertRejects } from "@std/assert";
import { callControl } from "./github_control.ts";
import type { DoubleConfig } from "./serve_double.ts";
import { startDouble } from "./start_double.ts";

const config: DoubleConfig = {
  repositories: {
    "o/r": { files: { "a": "1", "b": { base64: "AAE=" } } },
    "o/big": { generate: { folders: 2, filesPerFolder: 3 }, visibility: "private" },
    "o/empty": { empty: true },
  },
  tokens: { t1: { sees: "all" } },
  settings: { truncateAt: 4 },
};

Deno.test("serveControl() drives a double in a process of its own", async () => {
  await using double = await startDouble(config);
  const commits = `${double.apiUrl}/repos/o/r/commits/main`;
  const status = async (url: string) => {
    const response = await fetch(url, { headers: { authorization: "Bearer t1" } });
    await response.body?.cancel();
    return response.status;
  };
  const commit = await double.call("commit", "o/r", { "c": "2" }, { message: "Add c" });
  assertEquals((await (await fetch(commits)).json()).sha, commit);
  assertEquals(await status(`${double.apiUrl}/repos/o/empty/commits/main`), 409);
  const tree = await fetch(`${double.apiUrl}/repos/o/big/git/trees/main?recursive=1`, {
    headers: { authorization: "Bearer t1" },
  });
  assertEquals((await tree.json()).truncated, true);
  await double.call("set", { fault: { kind: "status", status: 500 } });
  assertEquals(await status(commits), 500);
  await double.call("set", { fault: null });
  assertEquals(await double.call("counts"), { commit: 3, "tree-recursive": 1 });
  await double.call("down");
  await assertRejects(() => fetch(commits), TypeError);
  await double.call("up");
  assertEquals(await status(commits), 200);
});

Deno.test("callControl() throws on a call or a setting that there is not", async () => {
  await using double = await startDouble({});
  await assertRejects(() => callControl(double.controlUrl, "toString"), Error, "no such call");
  await assertRejects(() => double.call("set", { now: 1 }), Error, 'Cannot set "now"');
});
