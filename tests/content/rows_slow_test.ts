// The memory that the rows of data files take.

import { assertEquals } from "@std/assert";
import { Worker } from "node:worker_threads";
import { MAX_HEAP_MB } from "../../lib/thread/compute.ts";

Deno.test("files of 200,000 rows fit into the content thread's memory", async () => {
  const worker = new Worker(new URL("./rows_worker.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  const listed: [path: string, bytes: number, ...totals: number[]][] = [];
  await new Promise<void>((resolve, reject) => {
    worker.on("message", (message) => {
      listed.push(message);
      if (listed.length === 6) resolve();
    });
    worker.on("error", reject);
    worker.on("exit", reject);
  });
  await worker.terminate();
  for (const [path, bytes, ...totals] of listed) {
    const total = path === "wide.csv" ? 9_999 : 200_000;
    const rows = path.endsWith(".jsonl") ? total : Math.min(total, 199_999);
    assertEquals([path, ...totals], [path, rows, rows]);
    assertEquals([path, bytes > 7 << 20 && bytes < 10 << 20], [path, true]);
  }
});
