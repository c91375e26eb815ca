// The judgement of `bench:edge`: which answers are wrong, and when a push
// shows.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { EdgeReaders, makeEdgeRepository } from "../../bench/edge_site.ts";

const HIT = "collections; hit; ttl=50, varnish; hit";

/**
 * Reads once each of two addresses of a repository whose first state was
 * replaced. The answer has the commit of one state, and the text of one.
 */
async function readOnce(
  { commitOf, textOf, cacheStatus = HIT, mostBehindMs }: {
    commitOf: 0 | 1;
    textOf: 0 | 1;
    cacheStatus?: string;
    mostBehindMs: number;
  },
) {
  await using cleanup = new AsyncDisposableStack();
  const repository = await makeEdgeRepository(cleanup, "edge0", 2);
  await repository.push();
  await new Promise((resume) => setTimeout(resume, 5));
  const commit = [...repository.states.keys()][commitOf];
  const body = { repository: { commit }, items: [`State ${textOf}.`] };
  const headers = { "cache-status": cacheStatus, age: "3" };
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json(body, { headers }),
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  using readers = new EdgeReaders(origin, [repository], {
    perSecond: 100,
    mostBehindMs,
  });
  await readers.readWhile(() => readers.sent < 2);
  return readers;
}

Deno.test("EdgeReaders counts a state that was replaced too long ago", async () => {
  const old = { commitOf: 0, textOf: 0, mostBehindMs: 0 } as const;
  const { wrong, sent } = await readOnce(old);
  assertEquals(wrong.length, sent);
  assertMatch(wrong[0]!, /replaced \d+ ms ago/);
  const cacheStatus = `${HIT}; detail=stale-if-error`;
  const marked = await readOnce({ ...old, cacheStatus });
  assertEquals(marked.wrong, []);
  assert(marked.greatestStaleMs > 0);
});

Deno.test("EdgeReaders counts content of another state", async () => {
  const mixed = { commitOf: 1, textOf: 0, mostBehindMs: 60_000 } as const;
  const { wrong } = await readOnce(mixed);
  assertMatch(wrong[0]!, /content of another state/);
  const readers = await readOnce({ ...mixed, textOf: 1 });
  assertEquals([readers.wrong, readers.isShown], [[], true]);
  assertEquals(readers.shownMs.length, 2);
});
