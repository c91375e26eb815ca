// Greedy clients against a real process. Clients that read nothing are in
// tests/http/large_responses_test.ts, clients that disconnect in tests/source.

import { assert, assertEquals } from "@std/assert";
import { serveTask } from "../run_task.ts";
import { listPath } from "../service.ts";

const LOCAL = listPath({ owner: "local", repo: "blog" });

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url + LOCAL);
  await response.body?.cancel();
  return response.status;
}

Deno.test("more connections than the process may have do not end it", async () => {
  await using service = await serveTask("start", { maxFiles: 128 });
  const { port, url } = service;
  // Its threads have the files that they need.
  assertEquals(await statusOf(url), 200);
  for (let attempt = 1; attempt <= 2; attempt++) {
    const connections = Array.from(
      { length: 300 },
      () => Deno.connect({ hostname: "127.0.0.1", port }).catch(() => null),
    );
    const greedy = (await Promise.all(connections)).filter((each) => each);
    assert(greedy.length >= 80, `${greedy.length}`);
    // The accept that finds no descriptor left comes a moment after the
    // connection.
    await service.logged("cannot listen, trying again", attempt);
    for (const connection of greedy) connection?.close();
    await service.logged("listening", attempt + 1);
    assertEquals(await statusOf(url), 200);
  }
});
