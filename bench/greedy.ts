// `deno task bench:greedy`: one client address sends the most expensive
// requests as fast as it can, at default settings, while a second address reads
// 20 known pages once a second. The second must not be slowed, memory must stay
// bounded, and requests to GitHub must stay within the first one's charges.
// `--seconds` sets the time, 60 by default.

import { makeGitRepository } from "../tests/github/git_repository.ts";
import { itemPath, listPath, type Parameters } from "../tests/service.ts";
import { post } from "./markdown.ts";
import {
  memoryOf,
  outputOf,
  pause,
  startService,
  startSource,
} from "./processes.ts";
import { atMost, flag, p99, runBench, table } from "./report.ts";

const seconds = Number(flag("seconds", "60"));

/** Connections of each kind. */
const CONNECTIONS = 4;
const KNOWN_PAGES = 20;
const CACHE_MEMORY_MB = 64;
const MISSES_PER_MINUTE = 120;
/**
 * Requests to GitHub of the most expensive request with a token: 2,000 for
 * folders, and 20,000 files in batches of 50.
 */
const MAX_REQUESTS_A_MISS = 2_400;
const BRANCHES = 100;
/**
 * So many folders of so many levels each. Each level is a request that waits
 * for the one before it.
 */
const DEEP = { folders: 80, levels: 120 };

/**
 * A kind of request; `n` counts up over all kinds. The client drops the
 * connection `dropAfterMs` after its request, or takes the first bytes of the
 * answer, waits `readForMs`, and drops it then.
 */
interface Kind {
  readonly path: (n: number) => string;
  readonly headers?: (n: number) => Record<string, string>;
  readonly dropAfterMs?: number;
  readonly readForMs?: number;
}

const list = (collection: string, more: Parameters = {}) =>
  listPath({ collection, ...more });
const ofBranch = (n: number) => list("posts", { branch: `b${n % BRANCHES}` });
const ofLarge = (n: number) =>
  list("large", { includeContent: true, limit: 100 - n % 97 });
const deepPath = (n: number) =>
  `deep/${n % DEEP.folders}/${"d/".repeat(DEEP.levels)}`;
const filters = (n: number) =>
  [..."abcdefghijklmnopqrst"].map((a) => `&filter[path]=!*${n}${a.repeat(190)}`)
    .join("");
const LARGE = { "x-large": "x".repeat(15_000) };
const huge = (n: number) => ({
  ...LARGE,
  "if-none-match": `"${n}", `.repeat(1_000),
});
const AS_HTML = { includeHtml: true, limit: 100 };
const NEIGHBORS = { collection: "posts", includeNeighbors: true };

const KINDS: Readonly<Record<string, Kind>> = {
  "pages of long paths": {
    path: (n) => list("long", { limit: 1000 - n % 500 }),
  },
  "20 long filters": { path: (n) => list("many", { limit: 1 }) + filters(n) },
  "sorts by front matter": {
    path: (n) => list("posts", { sort: `frontMatter.key${n}` }),
  },
  "unknown collections": { path: (n) => list(`no-such-collection-${n}`) },
  "dropped connections": { path: ofBranch, dropAfterMs: 10 },
  "slow readers": { path: ofLarge, readForMs: 5_000 },
  "many branches": { path: ofBranch },
  "large pages": { path: ofLarge },
  "deep folders": {
    path: (n) => itemPath({ path: `${deepPath(n)}none${n}.md` }),
  },
  "random parameters": {
    path: (n) => `${list("posts", { page: 1 + n % 60 })}&x${n}=${n}`,
  },
  "huge headers": { path: () => list("posts"), headers: huge },
  "pages as HTML": {
    path: (n) => list("markup", { ...AS_HTML, linkTemplate: `/${n}/{slug}` }),
  },
  "neighbors": {
    path: (n) =>
      itemPath({
        ...NEIGHBORS,
        slug: `p${n % 3_000}`,
        sort: `frontMatter.key${n}`,
      }),
  },
};

function* files(): Generator<[path: string, content: string]> {
  const long = Array.from({ length: 15 }, () => "\u4e2d".repeat(80)).join("/");
  for (let n = 0; n < 1_000; n++) yield [`long/${long}/${n}.md`, "x\n"];
  for (let n = 0; n < 20_000; n++) {
    yield [`many/${n % 100}/an-ordinary-name-${n}.md`, "x\n"];
  }
  for (let n = 0; n < 3_000; n++) {
    yield [`posts/p${n}.md`, `---\nkey${n}: ${n}\n---\nText ${n}.\n`];
  }
  for (let n = 0; n < 100; n++) {
    yield [`large/f${n}.md`, `${n} ${"lorem ipsum ".repeat(12_000)}\n`];
  }
  for (let n = 0; n < 100; n++) yield [`markup/post-${n}.md`, post(n)];
  for (let n = 0; n < DEEP.folders; n++) {
    yield [`${deepPath(n)}file.md`, `${n}\n`];
  }
}

/**
 * Sends one request; the status of its answer, or 0 where the connection was
 * dropped.
 */
async function send(
  origin: string,
  kind: Kind,
  n: number,
  stop: AbortSignal,
): Promise<number> {
  const { path, headers = () => ({}), dropAfterMs, readForMs } = kind;
  const signal = dropAfterMs
    ? AbortSignal.any([stop, AbortSignal.timeout(dropAfterMs)])
    : stop;
  try {
    const response = await fetch(origin + path(n), {
      signal,
      headers: headers(n),
    });
    if (readForMs === undefined) {
      await response.body?.pipeTo(new WritableStream());
    } else {
      const reader = response.body!.getReader();
      await reader.read();
      await pause(readForMs);
      await reader.cancel();
    }
    return response.status;
  } catch {
    return 0;
  }
}

/**
 * Reads pages over one connection from an address of its own; Deno cannot
 * choose the address, curl can.
 */
async function readPages(
  urls: readonly string[],
): Promise<{ status: number; ms: number }[]> {
  const format = "%{http_code} %{time_total}\\n";
  const reads = urls.flatMap((url) => ["--output", "/dev/null", url]);
  const command = [
    "curl",
    "--silent",
    "--interface",
    "127.0.0.2",
    "--write-out",
    format,
    ...reads,
  ];
  return (await outputOf(command)).trim().split("\n").map((line) => {
    const [status = NaN, seconds = NaN] = line.split(" ").map(Number);
    return { status, ms: seconds * 1000 };
  });
}

await runBench(
  { title: "Greedy client", section: "bench:greedy" },
  async (cleanup) => {
    const git = cleanup.use(await makeGitRepository(files()));
    for (let n = 0; n < BRANCHES; n++) await git.branch(`b${n}`);
    const { double, settings } = await startSource(cleanup, {
      "octo/site": { dir: git.dir },
      "octo/known": { generate: { folders: 1, filesPerFolder: 1_000 } },
    });
    const env = { ...settings, MISSES_PER_MINUTE: "", SOURCE_TIMEOUT_MS: "" };
    const service = cleanup.use(await startService({ env }));
    const pages = Array.from({ length: KNOWN_PAGES }, (_, index) => {
      return service.origin +
        listPath({ repo: "known", limit: 20, page: index + 1 });
    });
    await readPages(pages);
    const stop = new AbortController();
    const answers = Object.keys(KINDS).map((name) =>
      [name, new Map<number, number>()] as const
    );
    let sent = 0;
    // First one after the other, so that each has read what it needs before all
    // of them compete for that.
    for (const kind of Object.values(KINDS)) {
      const n = sent++;
      const first = () => send(service.origin, kind, n, stop.signal);
      for (
        let tries = 0;
        tries < 9 && [429, 503].includes(await first());
        tries++
      ) await pause(500);
    }
    await double.call("resetCounts");

    const greedy = answers.flatMap(([name, counts]) =>
      Array.from({ length: CONNECTIONS }, async () => {
        while (!stop.signal.aborted) {
          const status = await send(
            service.origin,
            KINDS[name]!,
            sent++,
            stop.signal,
          );
          counts.set(status, (counts.get(status) ?? 0) + 1);
        }
      })
    );
    const read: { status: number; ms: number }[] = [];
    let peakMb = 0;
    for (let second = 0; second < seconds; second++) {
      const startedMs = performance.now();
      read.push(...await readPages(pages));
      peakMb = Math.max(peakMb, (await memoryOf(service)).nowMb);
      await pause(Math.max(0, 1000 - (performance.now() - startedMs)));
    }
    stop.abort();
    await Promise.all(greedy);
    const counts = await double.call("counts") as Record<string, number>;
    const upstream = Object.values(counts).reduce(
      (sum, count) => sum + count,
      0,
    );
    const charged = MISSES_PER_MINUTE * MAX_REQUESTS_A_MISS *
      Math.max(1, seconds / 60);
    const shown = (counts: ReadonlyMap<number, number>) =>
      [...counts].sort(([a], [b]) => a - b)
        .map(([status, count]) => `${count} × ${status || "dropped"}`).join(
          ", ",
        );
    return {
      conditions: [
        `${seconds} s, ${answers.length} kinds of requests, ${CONNECTIONS} connections each, from one address; the ` +
        `second address reads ${KNOWN_PAGES} known pages once a second, ${read.length} in all; default settings`,
        `Requests to GitHub: ${JSON.stringify(counts)}`,
      ],
      goals: [
        atMost(
          "p99 of the second address, ms",
          250,
          p99(read.map(({ ms }) => ms)),
        ),
        atMost(
          "errors of the second address",
          0,
          read.filter(({ status }) => status !== 200).length,
        ),
        atMost("resident memory, MiB", 512 + CACHE_MEMORY_MB, peakMb),
        atMost("requests to GitHub", charged, upstream),
      ],
      parts: [
        table(
          ["greedy request", "answers"],
          answers.map(([name, counts]) => [name, shown(counts)]),
        ),
      ],
    };
  },
);
