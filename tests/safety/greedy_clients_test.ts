// Clients that take much and give nothing, against a real process: connections that say nothing, readers who read
// nothing, requests that are left.

import { assert, assertEquals } from "@std/assert";
import { GithubDouble } from "../github/github_double.ts";
import { makeGitRepository } from "../github/git_repository.ts";
import { itemPath, listPath } from "../service.ts";
import { type ServiceChild, startChild } from "./service_child.ts";

const LOCAL = listPath({ owner: "local", repo: "blog" });
const encoder = new TextEncoder();

/** Many connections, each with these bytes sent on it; fewer where the server takes no more. */
async function connectMany(port: number, count: number, text = ""): Promise<Deno.TcpConn[]> {
  const connections: Deno.TcpConn[] = [];
  for (let i = 0; i < count; i++) {
    try {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      connections.push(connection);
      if (text !== "") await connection.write(encoder.encode(text));
    } catch {
      break;
    }
  }
  return connections;
}

function closeAll(connections: readonly Deno.TcpConn[]): void {
  for (const connection of connections) connection.close();
}

async function statusOf(service: ServiceChild, path: string): Promise<number | string> {
  try {
    const response = await fetch(service.origin + path, { signal: AbortSignal.timeout(5_000) });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    return (error as Error).name;
  }
}

/** Asks again and again until the service answers. */
async function waitForAnswer(service: ServiceChild, path: string): Promise<void> {
  const until = performance.now() + 20_000;
  while (await statusOf(service, path) !== 200) {
    if (performance.now() > until) throw new Error(`Cannot reach "${path}": ${service.output}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

Deno.test("1,000 connections that say nothing, or half of something, keep nobody from an answer", async () => {
  await using service = await startChild();
  assertEquals(await statusOf(service, LOCAL), 200);
  const before = await service.residentMb();
  const idle = [
    ...await connectMany(service.port, 500),
    ...await connectMany(service.port, 250, `GET ${LOCAL} HTTP/1.1\r\nHost: x\r\nX-Half: `),
    ...await connectMany(
      service.port,
      250,
      `POST ${LOCAL} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n`,
    ),
  ];
  assertEquals(idle.length, 1_000);

  for (let i = 0; i < 20; i++) assertEquals(await statusOf(service, LOCAL), 200);
  const grownMb = await service.residentMb() - before;
  assert(grownMb < 100, `${grownMb} MB for 1,000 connections`);
  closeAll(idle);
});

Deno.test("more connections than the process may have do not end it", async () => {
  await using service = await startChild({ maxFiles: 128 });
  assertEquals(await statusOf(service, LOCAL), 200);
  for (let attempt = 0; attempt < 3; attempt++) {
    const greedy = await connectMany(service.port, 300);
    assert(attempt > 0 || greedy.length >= 80, `${greedy.length}`);
    // The accept that finds no descriptor left comes a moment after the connection.
    await new Promise((resolve) => setTimeout(resolve, 300));
    closeAll(greedy);
    await waitForAnswer(service, LOCAL);
  }
  assert(service.output.includes('"cannot listen, trying again"'));
  assert(!/\bat .*\.ts/.test(service.output), service.output);
});

Deno.test("readers who read nothing of large answers take a bounded part of the memory", async () => {
  const swelling = "\u0001".repeat(8 << 20);
  await using git = await makeGitRepository({ "posts/a.md": swelling });
  await using gh = await GithubDouble.start();
  gh.add("octo/site", git);
  await using service = await startChild({
    env: { GITHUB_API_URL: gh.apiUrl, GITHUB_RAW_URL: gh.rawUrl },
  });
  const path = itemPath({ path: "posts/a.md" });
  assertEquals(await statusOf(service, path), 200);
  const before = await service.residentMb();

  const readers = await connectMany(service.port, 60, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  let most = 0;
  for (let i = 0; i < 24; i++) {
    assertEquals(await statusOf(service, LOCAL), 200);
    most = Math.max(most, await service.residentMb());
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  // 60 answers of 48 MiB each would be 2,880.
  assert(most - before < 700, `${most - before} MB more`);
  closeAll(readers);
  await waitForAnswer(service, path);
});

Deno.test("a request that is left is left at the source, too, unless somebody else waits for it", async () => {
  await using git = await makeGitRepository({ "posts/a.md": "# A\n" });
  await using gh = await GithubDouble.start();
  gh.setQuota(null, { limit: 10_000, remaining: 10_000 });
  await using service = await startChild({
    env: {
      GITHUB_API_URL: gh.apiUrl,
      GITHUB_RAW_URL: gh.rawUrl,
      SOURCE_TIMEOUT_MS: "60000",
    },
  });
  for (const kind of ["commit", "tree", "raw"] as const) {
    gh.add(`${kind}/site`, git);
    const url = service.origin + listPath({ owner: kind, includeContent: true });
    const ask = async (signal: AbortSignal | null = null) =>
      (await (await fetch(url, { signal })).json()).items?.[0]?.content;
    gh.fault = { kind: "hang", only: [kind] };
    gh.resetCounts();
    const hanging = () => gh.requests.filter((request) => request.kind === kind);

    // One who leaves alone.
    const gone = new AbortController();
    const left = ask(gone.signal).catch(() => "left");
    await gh.log.until(() => gh.pauses.waiting === 1);
    gone.abort();
    assertEquals(await left, "left");
    await gh.log.until(() => hanging()[0]?.aborted === true);

    // One who leaves while another waits.
    const first = new AbortController();
    const leaving = ask(first.signal).catch(() => "left");
    await gh.log.until(() => gh.pauses.waiting === 1);
    const staying = ask();
    await new Promise((resolve) => setTimeout(resolve, 200));
    first.abort();
    assertEquals(await leaving, "left");
    await new Promise((resolve) => setTimeout(resolve, 200));
    assertEquals([kind, gh.pauses.waiting, hanging().length], [kind, 1, 2]);

    gh.fault = null;
    gh.pauses.release();
    // What hung breaks, and is asked once more.
    assertEquals([kind, await staying], [kind, "# A\n"]);
  }
});
