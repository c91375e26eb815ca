// `deno task bench:front-matter`: pages of 3,000 Markdown files sorted by front matter, with it, beside pages of the
// plain list; and how long the first of them takes. No request asks for a page that is kept. `--write` puts the report
// into RESULTS.md.

import { assertEquals } from "@std/assert";
import { parseArgs } from "node:util";
import { startDouble } from "../tests/github/start_double.ts";
import { describeMachine } from "./machine.ts";
import { withProcesses } from "./processes.ts";
import { RawClient } from "./raw_client.ts";
import { type Goal, goalTable, number, table } from "./report.ts";
import { OWNER, settingsFor, TOKEN } from "./repositories.ts";
import { writeResults } from "./results_file.ts";
import { startService } from "./service_process.ts";
import { median, ratios, spreadOf } from "./statistics.ts";

const FILES = 3_000;
const LIMIT = 10;
const PAGES = FILES / LIMIT;
const SERIES = [
  { title: "the plain list", query: "" },
  { title: "with front matter", query: "&includeFrontMatter=true" },
  {
    title: "newest first, with front matter",
    query: "&includeFrontMatter=true&sort=-frontMatter.date",
  },
  {
    title: "the same of those that are no drafts",
    query: "&includeFrontMatter=true&sort=-frontMatter.date&filter[frontMatter.draft]=!true",
  },
] as const;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    quick: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
const rounds = values.quick ? 1 : 5;
const count = values.quick ? 20 : 50;

if (import.meta.main) await withProcesses(main);

async function main(cleanup: AsyncDisposableStack): Promise<void> {
  const double = cleanup.use(
    await startDouble({
      repositories: {
        [`${OWNER}/posts`]: { generate: { folders: 10, filesPerFolder: FILES / 10, bytes: 3_000 } },
      },
      tokens: { [TOKEN]: { sees: "all" } },
    }),
  );
  const service = cleanup.use(await startService({ env: settingsFor(double) }));
  using client = await RawClient.connect(service.origin);

  const firstMs: number[] = [];
  for (const { query } of SERIES) firstMs.push(await ask(client, { query, page: PAGES }));
  await double.call("resetCounts");
  const medians = SERIES.map(() => [] as number[]);
  let page = 0;
  for (let round = 0; round < rounds; round++) {
    const times = SERIES.map(() => [] as number[]);
    for (let index = 0; index < count; index++) {
      page++;
      // The series take turns at being the first to ask for a page.
      for (const place of SERIES.keys()) {
        const which = (place + page) % SERIES.length;
        times[which]!.push(await ask(client, { query: SERIES[which]!.query, page }));
      }
    }
    times.forEach((values, which) => medians[which]!.push(median(values)));
  }
  const { commit: _, ...counts } = await double.call("counts") as Record<string, number>;
  assertEquals(counts, {}, "warm pages were read from the source");

  const plain = medians[0]!;
  const newest = median(ratios(medians[2]!, plain));
  const goal: Goal = {
    what:
      `warm page of ${LIMIT} sorted by front matter, with it, of a warm one from the plain list`,
    wanted: "under 5.00",
    measured: number(newest),
    met: newest < 5,
  };
  const rows = SERIES.map(({ title }, which) => {
    const { median: middle, min, max } = spreadOf(medians[which]!);
    return [
      title,
      number(firstMs[which]!),
      number(middle),
      `${number(min)}–${number(max)}`,
      number(median(ratios(medians[which]!, plain))),
    ];
  });
  const report = [
    "## Sorted by front matter",
    [
      ...await describeMachine({}),
      `${FILES} Markdown files of 3 kB in one collection; ${
        rounds * count
      } pages of ${LIMIT} each are warm, in ` +
      "turn, each asked for the first time; nothing was asked of the source while they were measured",
      "The goal is about warm pages. Before them the last page of each series is asked for once, one series after " +
      "the other, on a cold service: the first sorted one waits until the front matter of all files was read; that " +
      "time is in the table and held to no goal",
      "Times are medians of the rounds' medians, ratios are medians of the ratios of each round",
    ].map((line) => `- ${line}`).join("\n"),
    `### Goals\n\n${goalTable([goal])}`,
    table(
      [`page of ${LIMIT}`, "ms, the first", "ms, warm (median)", "(min–max of rounds)", "of plain"],
      rows,
    ),
  ].join("\n\n");
  console.log(report);
  if (values.write) await writeResults("bench:front-matter", report);
}

async function ask(
  client: RawClient,
  { query, page }: { query: string; page: number },
): Promise<number> {
  const path =
    `/api/list-collection-items?owner=${OWNER}&repo=posts&collection=posts&limit=${LIMIT}&page=${page}${query}`;
  const startMs = performance.now();
  const { status } = await client.get(path);
  assertEquals(status, 200, path);
  return performance.now() - startMs;
}
