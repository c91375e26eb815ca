// A worker that makes and lists data files, for a test of the memory that they
// take. It makes them itself because a message takes memory too.

import { parentPort } from "node:worker_threads";
import { indexTable, listRows, parseTable } from "../../lib/content/rows.ts";
import type { Pace } from "../../lib/thread/compute.ts";

const rows = (row: (n: number) => string, count = 200_000) =>
  `${Array.from({ length: count }, (_, n) => row(n)).join("\n")}\n`;

/** Files of nearly 10 MiB that take much memory for their bytes. */
const FILES: Record<string, () => string> = {
  "cells.csv": () =>
    rows((n) =>
      Array.from({ length: 8 }, (_, cell) => (8 * n + cell) % 99_991).join()
    ),
  "empty.csv": () => rows(() => ",".repeat(50)),
  "short.csv": () => rows(() => "a,b".repeat(12)),
  "wide.csv": () => rows(() => ",".repeat(1_000), 10_000),
  "lists.jsonl": () => rows(() => `[${"[],".repeat(15)}0]`),
  "objects.jsonl": () => rows(() => '{"a":{},"b":{},"c":{},"d":{},"e":{}}'),
};

let pieces = 0;
const pace: Pace = {
  within: (work) => work(),
  isOver: () => ++pieces % 2_000 === 0,
  isLast: true,
};

function list(
  path: string,
  bytes: Uint8Array<ArrayBuffer>,
  infers: boolean,
): number {
  const name = { repository: "octo/site", path, id: path, infers };
  parseTable({ ...name, bytes });
  const query = { facets: ["data.column2"], fields: undefined, filter: [] };
  const page = { start: 0, end: 1, maxBytes: 16 << 20 };
  const input = { ...name, ...query, ...page, search: "99", sort: undefined };
  while (!infers && !indexTable(name, pace));
  const search = infers ? undefined : "99";
  listRows({ ...input, search }, pace);
  const output = listRows(
    { ...input, search: undefined, sort: "-data.column3" },
    pace,
  );
  return "missing" in output ? 0 : output.total;
}

const encoder = new TextEncoder();
for (const [path, textOf] of Object.entries(FILES)) {
  const bytes = encoder.encode(textOf());
  const totals = [false, true].map((infers) => list(path, bytes, infers));
  parentPort!.postMessage([path, bytes.length, ...totals]);
}
