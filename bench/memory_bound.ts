// The memory of a service after very many different requests, once each: the cache is bounded by CACHE_MEMORY_MB, and the
// process takes more beside it. Pages with content take most: their bytes exist as an answer of GitHub, as text and as
// JSON, until V8 collects them.

import { assert, assertEquals } from "@std/assert";
import pLimit from "p-limit";
import { generateFiles } from "../tests/github/generated_files.ts";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { startDouble } from "../tests/github/start_double.ts";
import { memoryOf } from "./processes.ts";
import { table } from "./report.ts";
import { OWNER, settingsFor, TOKEN } from "./repositories.ts";
import { startService } from "./service_process.ts";

const FOLDERS = 200;
const SHAPE = { folders: 100, filesPerFolder: 20, identical: true };
const SMALL_FILES = { folders: 100, filesPerFolder: 200, bytes: 3_000 };
const LARGE_FILES = { folders: 10, filesPerFolder: 100, bytes: 150_000 };
const HUNDRED_THOUSAND = { folders: 100, filesPerFolder: 1_000, identical: true };
const MILLION = Array.from({ length: 10 }, (_, index) => `million-${index}`);
const AT_ONCE = 16;
const CACHE_MEMORY_MB = 64;

/** What is requested, one part after the other; `mostMb`: what the process may take beside the cache at most, in MiB. */
const PARTS = [
  { title: "20,000 lists, of as many collections", mostMb: 256, queries: collections },
  {
    title: "lists of 10 collections of 100,000 files",
    mostMb: 768,
    queries: millionFiles,
    fillsTimes: 0,
  },
  { title: "100,000 answers of one item", mostMb: 768, fillsTimes: 1, queries: answers },
  { title: "pages of 100 files of 3 kB, with content", mostMb: 768, queries: smallPages },
  { title: "pages of 15 MB, with content", mostMb: 1_536, queries: largePages },
];

/** Requests and measures; `isWithin` is whether the process stayed within its bounds. */
export async function measureMemory(
  cleanup: AsyncDisposableStack,
): Promise<{ report: string; isWithin: boolean }> {
  const git = cleanup.use(await makeGitRepository(files()));
  const double = cleanup.use(
    await startDouble({
      repositories: {
        [`${OWNER}/many`]: { dir: git.dir },
        [`${OWNER}/small-files`]: { generate: SMALL_FILES },
        [`${OWNER}/large-files`]: { generate: LARGE_FILES },
        ...Object.fromEntries(
          MILLION.map((repo) => [`${OWNER}/${repo}`, { generate: HUNDRED_THOUSAND }]),
        ),
      },
      tokens: { [TOKEN]: {} },
    }),
  );
  const quota = { limit: 1_000_000, remaining: 1_000_000 };
  await double.call("setQuota", TOKEN, quota);
  await double.call("setQuota", TOKEN, { ...quota, resource: "graphql" });
  const settings = { ...settingsFor(double), CACHE_MEMORY_MB: `${CACHE_MEMORY_MB}` };
  const env = { ...settings, LOG_LEVEL: "silent" };
  const service = cleanup.use(await startService({ env }));

  const { nowMb: beforeMb } = await memoryOf(service.pid);
  const rows: string[][] = [];
  let isWithin = true;
  const limit = pLimit(AT_ONCE);
  for (const { title, mostMb, queries, fillsTimes = 2 } of PARTS) {
    let [answered, answerBytes, busy] = [0, 0, 0];
    await Promise.all(Array.from(queries(), (query) =>
      limit(async () => {
        const search = new URLSearchParams({ owner: OWNER, ...query });
        const response = await fetch(`${service.origin}/api/list-collection-items?${search}`);
        const { length } = await response.bytes();
        // Large answers wait for memory, and a wait that takes too long is a 503: that is part of the bound.
        if (response.status === 503) return void busy++;
        assertEquals(response.status, 200, `${search}`);
        answerBytes += length;
        answered++;
      })));
    assert(
      answerBytes > fillsTimes * CACHE_MEMORY_MB * 2 ** 20,
      `${title} do not fill the cache ${fillsTimes} times`,
    );
    const { nowMb, peakMb } = await memoryOf(service.pid);
    const besideMb = peakMb - CACHE_MEMORY_MB;
    isWithin &&= besideMb <= mostMb;
    rows.push([
      title,
      ...[answered, busy, answerBytes / 2 ** 20, nowMb, peakMb, besideMb, mostMb].map((count) =>
        Math.round(count).toLocaleString("en-US")
      ),
      besideMb <= mostMb ? "yes" : "**no**",
    ]);
  }
  const report = [
    `Memory in MiB with CACHE_MEMORY_MB=${CACHE_MEMORY_MB}, one part after the other, ${AT_ONCE} requests at once; the ` +
    `process had ${beforeMb} after its start.`,
    table(
      [
        ...[
          "requested once each",
          "answers",
          "503 instead",
          "their MiB",
          "process after",
          "at most so far",
        ],
        ...["beside CACHE_MEMORY_MB", "may be", "met"],
      ],
      rows,
    ),
  ].join("\n\n");
  return { report, isWithin };
}

function* files(): Generator<readonly [path: string, content: string]> {
  for (let folder = 0; folder < FOLDERS; folder++) {
    yield* generateFiles({ ...SHAPE, prefix: `folder-${folder}` });
  }
}

type Query = Readonly<Record<string, string>>;

function* collections(): Generator<Query> {
  for (let folder = 0; folder < FOLDERS; folder++) {
    for (let place = 0; place < SHAPE.folders; place++) {
      const name = `folder-${folder}/d${String(place).padStart(3, "0")}`;
      yield { repo: "many", collection: name };
    }
  }
}

function* millionFiles(): Generator<Query> {
  for (const repo of MILLION) yield { repo, collection: "posts" };
}

function* answers(): Generator<Query> {
  for (const query of collections()) {
    for (let page = 1; page <= 5; page++) yield { ...query, limit: "1", page: String(page) };
  }
}

function* smallPages(): Generator<Query> {
  for (const sort of ["path", "-path", "name"]) {
    for (let page = 1; page <= 200; page++) yield contentOf("small-files", { page, sort });
  }
}

function* largePages(): Generator<Query> {
  for (const limit of [100, 99, 98, 97, 96, 95]) {
    for (let page = 1; page <= 10; page++) yield contentOf("large-files", { page, limit });
  }
}

function contentOf(repo: string, options: Readonly<Record<string, unknown>>): Query {
  const cut = Object.entries({ limit: 100, ...options }).map(([key, value]) => [key, `${value}`]);
  return { repo, collection: "posts", includeContent: "true", ...Object.fromEntries(cut) };
}
