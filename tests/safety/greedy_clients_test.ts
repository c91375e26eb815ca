// Clients that take much and give nothing, against a real process: connections that say nothing, readers who read
// nothing, requests that are left.

import { assert, assertEquals } from "@std/assert";
import { GithubDouble } from "../github/github_double.ts";
import type { LoggedRequest } from "../github/github_log.ts";
import { makeGitRepository } from "../github/git_repository.ts";
import { itemPath, listPath } from "../service.ts";
import { type ServiceChild, startChild } from "./service_child.ts";

const LOCAL = listPath({ owner: "local", repo: "blog" });
const LEFT = '"status":499';
const LISTENS = '"event":"listening"';
const FAILED = '"cannot listen, trying again"';
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
    const response = await fetch(service.origin + path, { signal: AbortSignal.timeout(30_000) });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    return (error as Error).name;
  }
}

/** Waits until something is so, which nothing here can tell of itself. @throws {Error} where it never is. */
async function until(isSo: () => boolean | Promise<boolean>, service: ServiceChild): Promise<void> {
  for (let times = 0; times < 400; times++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Cannot wait any longer: ${service.output}`);
}

/** How often a text is in what the service wrote so far. */
function countOf(text: string, service: ServiceChild): number {
  return service.output.split(text).length - 1;
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
    assert(greedy.length >= 80, `${greedy.length}`);
    // The accept that finds no descriptor left comes a moment after the connection.
    await until(() => countOf(FAILED, service) > attempt, service);
    closeAll(greedy);
    await until(() => countOf(LISTENS, service) > attempt + 1, service);
    assertEquals(await statusOf(service, LOCAL), 200);
  }
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
  await until(async () => {
    assertEquals(await statusOf(service, LOCAL), 200);
    most = Math.max(most, await service.residentMb());
    return countOf('"path":"/api/get-item-content"', service) === 61;
  }, service);
  // 60 answers of 48 MiB each would be 2,880.
  assert(most - before < 700, `${most - before} MB more`);
  closeAll(readers);
  await until(async () => await statusOf(service, path) === 200, service);
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
  for (const kind of ["tree", "raw"] as const) {
    gh.add(`${kind}/site`, git);
    const urlOf = (owner: string) => service.origin + listPath({ owner, includeContent: true });
    const url = urlOf(kind);
    const ask = async (signal: AbortSignal | null = null) =>
      (await (await fetch(url, { signal })).json()).items?.[0]?.content;
    const isHeld = (request: LoggedRequest) =>
      request.kind === kind && request.path.includes(`/${kind}/site/`);
    gh.faultWhen((request) => isHeld(request) ? { kind: "hang" } : null);
    gh.resetCounts();
    const hanging = () => gh.requests.filter(isHeld);
    /** Another request all the way: what came before it has been seen to by then. */
    const passBy = async (owner: string) => {
      gh.add(`${owner}/site`, git);
      assertEquals((await (await fetch(urlOf(owner))).json()).items.length, 1);
    };

    // One who leaves alone.
    const gone = new AbortController();
    const left = ask(gone.signal).catch(() => "left");
    await gh.log.until(() => gh.pauses.waiting === 1);
    gone.abort();
    assertEquals(await left, "left");
    await until(() => hanging()[0]?.aborted === true, service);

    // One who leaves while another waits.
    const first = new AbortController();
    const leaving = ask(first.signal).catch(() => "left");
    await gh.log.until(() => gh.pauses.waiting === 1);
    const staying = ask();
    await passBy(`${kind}-passing`);
    const heard = countOf(LEFT, service);
    first.abort();
    assertEquals(await leaving, "left");
    await until(() => countOf(LEFT, service) > heard, service);
    await passBy(`${kind}-passing-again`);
    assertEquals([kind, gh.pauses.waiting, hanging().length], [kind, 1, 2]);

    gh.faultWhen(null);
    gh.pauses.release();
    // What hung breaks, and is asked once more.
    assertEquals([kind, await staying], [kind, "# A\n"]);
  }
});
