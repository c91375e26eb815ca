// The judgement of `bench:edge`: which answers are wrong, and when a push
// shows.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { EdgeReaders, makeEdgeRepository } from "../../bench/edge_site.ts";

const HIT = "collections; hit; ttl=50, varnish; hit";

/**
 * Reads once each of two addresses of a repository whose first state was
 * replaced; `answer` gives commit and headers.
 */
async function readOnce(
  answer: (
    commits: readonly string[],
  ) => { commit: string; text: string; headers: Record<string, string> },
  mostBehindMs: number,
) {
  await using cleanup = new AsyncDisposableStack();
  const repository = await makeEdgeRepository(cleanup, "edge0", 2);
  await repository.push();
  await new Promise((resume) => setTimeout(resume, 5));
  const { commit, text, headers } = answer([...repository.states.keys()]);
  const body = JSON.stringify({ repository: { commit }, items: [text] });
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(body, { headers }),
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  using readers = new EdgeReaders(origin, [repository], {
    perSecond: 100,
    mostBehindMs,
  });
  await readers.readWhile(() => readers.sent < 2);
  assert(readers.sent >= 2);
  return readers;
}

Deno.test("EdgeReaders counts a state that was replaced too long ago", async () => {
  const old = (cacheStatus: string) =>
    readOnce(([commit = ""]) => ({
      commit,
      text: "State 0.",
      headers: { "cache-status": cacheStatus, age: "0" },
    }), 0);
  const { wrong, sent } = await old(HIT);
  assertEquals(wrong.length, sent);
  assertMatch(wrong[0]!, /replaced \d+ ms ago/);
  const marked = await old(`${HIT}; detail=stale-if-error`);
  assertEquals(marked.wrong, []);
  assert(marked.greatestStaleMs > 0);
});

Deno.test("EdgeReaders counts content of another state", async () => {
  const { wrong } = await readOnce(([, commit = ""]) => ({
    commit,
    text: "State 0.",
    headers: { "cache-status": HIT },
  }), 60_000);
  assertMatch(wrong[0]!, /content of another state/);
});

Deno.test("EdgeReaders notes when each address shows a push", async () => {
  const readers = await readOnce(([, commit = ""]) => ({
    commit,
    text: "State 1.",
    headers: { "cache-status": HIT, age: "3" },
  }), 60_000);
  assertEquals([readers.wrong, readers.isShown], [[], true]);
  assertEquals(readers.shownMs.length, 2);
});
