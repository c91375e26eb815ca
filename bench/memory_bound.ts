// The memory of a service that was asked for very many different collections, once each: what it keeps is bounded by
// CACHE_MEMORY_MB, and beside that stands what the process itself takes.

import { assertEquals } from "@std/assert";
import { inParallel } from "../lib/repository/in_parallel.ts";
import { generateFiles } from "../tests/github/generated_files.ts";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { startDouble } from "../tests/github/start_double.ts";
import { outputOf } from "./processes.ts";
import { OWNER, settingsFor, TOKEN } from "./repositories.ts";
import { startService } from "./service_process.ts";

const FOLDERS = 200;
const SHAPE = { folders: 100, filesPerFolder: 20, identical: true };
const REPO = "many";
const AT_ONCE = 16;
const CACHE_MEMORY_MB = 64;
/** What Deno, V8 and the requests under way take beside the cache at most, in MiB. */
const OVERHEAD_MB = 256;

/** Asks and measures; `isWithin` tells whether the process stayed within its bound. */
export async function measureMemory(
  cleanup: AsyncDisposableStack,
): Promise<{ report: string; isWithin: boolean }> {
  const git = cleanup.use(await makeGitRepository(files()));
  const double = cleanup.use(
    await startDouble({
      repositories: { [`${OWNER}/${REPO}`]: { dir: git.dir } },
      tokens: { [TOKEN]: {} },
    }),
  );
  const quota = { limit: 1_000_000, remaining: 1_000_000 };
  await double.call("setQuota", TOKEN, quota);
  const settings = { ...settingsFor(double), CACHE_MEMORY_MB: `${CACHE_MEMORY_MB}` };
  const env = { ...settings, LOG_LEVEL: "silent" };
  const service = cleanup.use(await startService({ env }));

  const before = await memoryOf(service.pid);
  let answered = 0;
  let answerBytes = 0;
  await inParallel(collections(), async (collection) => {
    const query = new URLSearchParams({ owner: OWNER, repo: REPO, collection });
    const response = await fetch(`${service.origin}/api/list-collection-items?${query}`);
    const { length } = await response.bytes();
    assertEquals(response.status, 200);
    answerBytes += length;
    answered++;
  }, { limit: AT_ONCE });
  const after = await memoryOf(service.pid);

  const isWithin = after.peakMb <= CACHE_MEMORY_MB + OVERHEAD_MB;
  const report = [
    `${answered.toLocaleString("en-US")} different collections, asked once each: ` +
    `${
      (answerBytes / 2 ** 20).toFixed(0)
    } MiB of answers, with CACHE_MEMORY_MB=${CACHE_MEMORY_MB}.`,
    `The process had ${before.nowMb} MiB before, ${after.nowMb} MiB after, and ${after.peakMb} MiB at most.`,
    `That is CACHE_MEMORY_MB + ${
      after.peakMb - CACHE_MEMORY_MB
    } MiB, and may be CACHE_MEMORY_MB + ` +
    `${OVERHEAD_MB} MiB: ${isWithin ? "met" : "NOT met"}.`,
  ].join("\n");
  return { report, isWithin };
}

function* files(): Generator<readonly [path: string, content: string]> {
  for (let folder = 0; folder < FOLDERS; folder++) {
    yield* generateFiles({ ...SHAPE, prefix: `folder-${folder}` });
  }
}

function* collections(): Generator<string> {
  for (let folder = 0; folder < FOLDERS; folder++) {
    for (let place = 0; place < SHAPE.folders; place++) {
      yield `folder-${folder}/d${String(place).padStart(3, "0")}`;
    }
  }
}

/** The resident memory of a process, now and at its peak (proc_pid_status(5)), in MiB. */
async function memoryOf(pid: number): Promise<{ nowMb: number; peakMb: number }> {
  // Deno itself reads nothing of /proc without all permissions.
  const status = await outputOf("cat", [`/proc/${pid}/status`]);
  const field = (name: string) => {
    const kibibytes = status.match(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m"))?.[1];
    if (kibibytes === undefined) throw new Error(`Cannot read "${name}": /proc says nothing of it`);
    return Math.round(Number(kibibytes) / 1024);
  };
  return { nowMb: field("VmRSS"), peakMb: field("VmHWM") };
}
