// What a page costs in a large collection and in a small one. Every request asks for a page that no one asked for
// before, so that none is an answer that was kept; one connection, so that a time is that of one request. Ratios are
// those of a round's medians, since what slows a round slows all of its series.

import { assertEquals } from "@std/assert";
import type { RunningDouble } from "../tests/github/start_double.ts";
import { RawClient } from "./raw_client.ts";
import { OWNER, SHAPES } from "./repositories.ts";
import { type Goal, number, table } from "./report.ts";
import { median, ratios, spreadOf } from "./statistics.ts";

const LIMIT = 50;
const SMALL_PAGES = SHAPES.small.filesPerFolder / LIMIT;
const LARGE_PAGES = SHAPES.large.folders * SHAPES.large.filesPerFolder / LIMIT;
/** Names are answered as they were spelled, so that each spelling is an answer of its own. */
const MAX_SPELLINGS = 2 ** (OWNER.length + "small".length);

/** The series, each with the page that its `index`th request asks for. */
const SERIES = [
  { title: "100 items", repo: "small", page: (index: number) => 1 + index % SMALL_PAGES },
  { title: "100,000 items, first pages", repo: "large", page: (index: number) => 1 + index % 10 },
  {
    title: "100,000 items, last pages",
    repo: "large",
    page: (index: number) => LARGE_PAGES - index % 10,
  },
] as const;

/** Measures `count` pages a series and round, series in turn; gives a table and the goal. */
export async function measurePages(
  { origin, double, rounds, count }: {
    origin: string;
    double: RunningDouble;
    rounds: number;
    count: number;
  },
): Promise<{ markdown: string; goals: Goal[] }> {
  using client = await RawClient.connect(origin);
  for (const { repo } of SERIES) await ask(client, { spelling: 0, repo, page: 1_000_000 });
  await double.call("resetCounts");
  const rows = SERIES.map(() => [] as number[]);
  let request = 0;
  for (let round = 0; round < rounds; round++) {
    const times = SERIES.map(() => [] as number[]);
    for (let index = 0; index < count; index++, request++) {
      const spelling = request % MAX_SPELLINGS;
      for (const place of SERIES.keys()) {
        const which = (place + request) % SERIES.length;
        const { repo, page } = SERIES[which]!;
        times[which]!.push(await ask(client, { spelling, repo, page: page(request) }));
      }
    }
    times.forEach((values, which) => rows[which]!.push(median(values)));
  }
  const { tree = 0, blob = 0 } = await double.call("counts") as Record<string, number>;
  assertEquals([tree, blob], [0, 0], "pages of known trees were read from the source");
  const ofSmall = rows.map((row) => spreadOf(ratios(row, rows[0]!)));
  const goals = SERIES.slice(1).map(({ title }, index): Goal => {
    const { median, min, max } = ofSmall[index + 1]!;
    return {
      what: `page of ${LIMIT} from ${title}, of one from 100 items`,
      wanted: "at most 1.50",
      measured: `${number(median)} (${number(min)}–${number(max)})`,
      met: median <= 1.5,
    };
  });
  return {
    goals,
    markdown: table(
      [
        ...["page of 50, not kept, from", "ms (median)", "(min–max of rounds)"],
        ...["of 100 items", "(min–max)"],
      ],
      SERIES.map(({ title }, index) => {
        const ms = spreadOf(rows[index]!);
        const ratio = ofSmall[index]!;
        return [
          title,
          number(ms.median),
          `${number(ms.min)}–${number(ms.max)}`,
          number(ratio.median),
          `${number(ratio.min)}–${number(ratio.max)}`,
        ];
      }),
    ),
  };
}

async function ask(
  client: RawClient,
  { spelling, repo, page }: { spelling: number; repo: string; page: number },
): Promise<number> {
  const [owner, name] = [spelled(OWNER, spelling), spelled(repo, spelling >> OWNER.length)];
  const path =
    `/api/list-collection-items?owner=${owner}&repo=${name}&collection=posts&page=${page}`;
  const startMs = performance.now();
  const { status, headers } = await client.get(path);
  const ms = performance.now() - startMs;
  assertEquals(status, 200, path);
  if (/; (ttl|stored)/.test(headers.get("cache-status") ?? "")) return ms;
  throw new Error(`Cannot use "${path}": ${headers.get("cache-status")}`);
}

/** A name with the letters in upper case whose bits are set. */
function spelled(name: string, bits: number): string {
  return [...name].map((letter, index) => bits >> index & 1 ? letter.toUpperCase() : letter).join(
    "",
  );
}
