// Greedy clients against a real process: connections that send nothing or half
// of something. Clients that read nothing are in large_responses_test.ts,
// clients that disconnect in tests/source.

import { assert, assertEquals } from "@std/assert";
import { serveTask } from "../run_task.ts";
import { listPath } from "../service.ts";

const LOCAL = listPath({ owner: "local", repo: "blog" });

/**
 * Many connections, each with these bytes sent on it; fewer where the server
 * takes no more.
 */
async function connectMany(
  port: number,
  count: number,
  text = "",
): Promise<Deno.TcpConn[]> {
  const connections: Deno.TcpConn[] = [];
  for (let i = 0; i < count; i++) {
    try {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      connections.push(connection);
      if (text !== "") await connection.write(new TextEncoder().encode(text));
    } catch {
      break;
    }
  }
  return connections;
}

async function statusOf(url: string, path = LOCAL): Promise<number> {
  const response = await fetch(url + path);
  await response.body?.cancel();
  return response.status;
}

Deno.test("1,000 silent connections stop no response", async () => {
  await using service = await serveTask("start");
  const { port, url } = service;
  const idle = [
    ...await connectMany(port, 500),
    ...await connectMany(
      port,
      250,
      `GET ${LOCAL} HTTP/1.1\r\nHost: x\r\nX-Half: `,
    ),
    ...await connectMany(
      port,
      250,
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n`,
    ),
  ];
  assertEquals(idle.length, 1_000);

  for (let i = 0; i < 20; i++) assertEquals(await statusOf(url), 200);
  for (const connection of idle) connection.close();
});

Deno.test("more connections than the process may have do not end it", async () => {
  await using service = await serveTask("start", { maxFiles: 128 });
  // This waits for the threads, which then have the files that they need.
  const sorted = `${LOCAL}&sort=-frontMatter.date`;
  assertEquals(await statusOf(service.url, sorted), 200);
  for (let attempt = 1; attempt <= 2; attempt++) {
    const greedy = await connectMany(service.port, 300);
    assert(greedy.length >= 80, `${greedy.length}`);
    // The accept that finds no descriptor left comes a moment after the
    // connection.
    await service.logged("cannot listen, trying again", attempt);
    for (const connection of greedy) connection.close();
    await service.logged("listening", attempt + 1);
    assertEquals(await statusOf(service.url), 200);
  }
});
