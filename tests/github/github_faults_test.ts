// Tests the effect of each fault on a client.

import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import type { Fault } from "./github_faults.ts";
import { serveRepository } from "./served_repository.ts";

async function start() {
  const served = await serveRepository({ "d/a": "some bytes\n" }, { now: () => 1_000_000 });
  const { url, repository } = served;
  const headers = { accept: "application/vnd.github.sha" };
  return {
    ...served,
    /** Requests the commit of the branch. */
    commit: (signal?: AbortSignal) =>
      fetch(`${url}/commits/heads%2Fmain`, { headers, ...(signal ? { signal } : {}) }),
    trees: `${url}/git/trees/main`,
    blobs: `${url}/git/blobs/${await repository.resolve("main:d/a")}`,
  };
}

Deno.test("Fault answers carry the status, headers and body of their kind", async () => {
  await using double = await start();
  const cases: [Fault, status: number, header: string, value: string | null][] = [
    [{ kind: "status", status: 500 }, 500, "x-ratelimit-remaining", "60"],
    [{ kind: "status", status: 503, headers: { "retry-after": "7" } }, 503, "retry-after", "7"],
    [{ kind: "quota403" }, 403, "x-ratelimit-remaining", "0"],
    [{ kind: "quota429", resetAtMs: 2_000_000 }, 429, "x-ratelimit-reset", "2000"],
    [{ kind: "secondary429" }, 429, "retry-after", "60"],
    [{ kind: "secondary403", retryAfterSeconds: null }, 403, "retry-after", null],
    [{ kind: "forbidden" }, 403, "x-ratelimit-remaining", "60"],
    [{ kind: "html" }, 200, "content-type", "text/html; charset=utf-8"],
    [{ kind: "garbage" }, 200, "content-type", "application/json; charset=utf-8"],
  ];
  for (const [fault, status, header, value] of cases) {
    double.gh.fault = fault;
    const response = await fetch(double.trees);
    assertEquals([fault, response.status], [fault, status]);
    assertEquals([fault, response.headers.get(header)], [fault, value]);
    const body = await response.text();
    if (status === 200) await assertRejects(async () => await JSON.parse(body), SyntaxError);
  }
});

Deno.test("Fault kinds reset, cut and stall break the body", async () => {
  await using double = await start();
  for (const kind of ["reset", "cut"] as const) {
    double.gh.fault = { kind };
    await assertRejects(async () => await (await double.commit()).text(), TypeError);
  }
  double.gh.fault = { kind: "stall" };
  const response = await double.commit();
  const reader = response.body!.getReader();
  assertNotEquals((await reader.read()).value?.length, 0);
  const rest = reader.read();
  double.gh.pauses.release();
  await assertRejects(() => rest, TypeError);
});

Deno.test("Fault kind hang lasts until the client goes away, or the double lets go", async () => {
  await using double = await start();
  double.gh.fault = { kind: "hang" };
  const disconnect = new AbortController();
  const aborted = double.commit(disconnect.signal);
  await double.gh.log.until(() => double.gh.pauses.waiting === 1);
  disconnect.abort();
  await assertRejects(() => aborted, DOMException);
  await double.gh.log.until(() => double.gh.requests[0]!.aborted);
  const hanging = double.commit();
  await double.gh.log.until(() => double.gh.pauses.waiting === 1);
  double.gh.pauses.release();
  await assertRejects(async () => await (await hanging).text(), TypeError);
  assertEquals(double.gh.requests[1]!.aborted, false);
});

Deno.test("GithubDouble.down() refuses connections until up()", async () => {
  await using double = await start();
  await (await double.commit()).text();
  await double.gh.down();
  await assertRejects(() => double.commit(), TypeError);
  double.gh.up();
  assertEquals(await (await double.commit()).text(), await double.repository.head());
});

Deno.test("Fault kinds wrong-bytes and evil-tree change contents and trees alone", async () => {
  await using double = await start();
  const { gh } = double;
  gh.fault = { kind: "wrong-bytes" };
  const raw = { headers: { accept: "application/vnd.github.raw+json" } };
  assertNotEquals(await (await fetch(double.blobs, raw)).text(), "some bytes\n");
  const json = await (await fetch(double.blobs)).json();
  assertNotEquals(atob(json.content), "some bytes\n");
  const file = `${gh.rawUrl}/octo/site/${await double.repository.head()}/d/a`;
  assertNotEquals(await (await fetch(file)).text(), "some bytes\n");
  const entry = { path: "..", mode: "100644", type: "blob", sha: "0".repeat(40), size: -1 };
  gh.fault = { kind: "evil-tree", entries: [entry] };
  assertEquals((await (await fetch(double.trees)).json()).tree.at(-1), entry);
  gh.fault = { kind: "evil-tree", rewrite: () => ({ tree: "none" }) };
  assertEquals(await (await fetch(double.trees)).json(), { tree: "none" });
  assertEquals(await (await double.commit()).text(), await double.repository.head());
});

Deno.test("GithubDouble.faultWhen(), only and intercept concern what they choose", async () => {
  await using double = await start();
  const { gh } = double;
  const status = async (sending: Promise<Response>) => {
    const response = await sending;
    await response.body?.cancel();
    return response.status;
  };
  gh.fault = { kind: "status", status: 500, only: ["tree"] };
  assertEquals([await status(fetch(double.trees)), await status(double.commit())], [500, 200]);
  gh.faultWhen(({ kind }) => kind === "tree" ? { kind: "status", status: 502 } : null);
  assertEquals([await status(fetch(double.trees)), await status(double.commit())], [502, 200]);
  gh.faultWhen(null);
  gh.fault = null;
  gh.intercept = (_, { kind }) => kind === "commit" ? new Response(null, { status: 299 }) : null;
  assertEquals([await status(fetch(double.trees)), await status(double.commit())], [200, 299]);
  assertEquals(gh.requests.map(({ status }) => status), [500, 200, 502, 200, 200, 299]);
});

Deno.test("GithubDouble counts what is under way at once", async () => {
  await using double = await start();
  const { gh } = double;
  const barrier = Promise.withResolvers<null>();
  gh.intercept = () => barrier.promise;
  const three = [1, 2, 3].map(async () => await (await double.commit()).text());
  await gh.log.until(() => gh.log.inFlight === 3);
  barrier.resolve(null);
  await Promise.all(three);
  await (await double.commit()).text();
  assertEquals(gh.maxConcurrent, 3);
});
