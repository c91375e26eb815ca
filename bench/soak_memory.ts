// The soak's process: killed several times in the first part, left alone in the second and measured there, since a new
// process counts its memory anew.

import { pause } from "./processes.ts";
import type { SoakService } from "./soak_service.ts";
import { median } from "./statistics.ts";

const KILLS = 4;
/** Shares of the whole time: until the last kill, and of the warm-up after it. */
const KILLS_SHARE = 0.4;
const WARM_UP_SHARE = 0.2;
const MINUTE_MS = 60_000;
const SAMPLE_EVERY_MS = 500;

/** Bytes after the warm-up and at the end. */
export type Pair = readonly [first: number, last: number];

/**
 * Kills the service several times, then leaves it alone until `endMs` and measures it after a warm-up, at most a minute,
 * and in the last period, at most a minute too. Resolves at `endMs`.
 */
export async function killThenMeasure(
  service: SoakService,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
): Promise<{ heap: Pair; rss: Pair; warmUpMs: number; windowMs: number }> {
  const totalMs = endMs - startMs;
  for (let kill = 1; kill <= KILLS; kill++) {
    await pauseUntil(startMs + totalMs * KILLS_SHARE * kill / KILLS);
    await service.killAndRestart();
  }
  const warmUpMs = Math.min(MINUTE_MS, totalMs * WARM_UP_SHARE);
  await pause(warmUpMs);
  const windowMs = Math.min(MINUTE_MS, (endMs - Date.now()) / 2);
  const firstHeap = (await service.memory({ collected: true })).heapUsed;
  const firstRss = await medianRss(service, windowMs);
  await pauseUntil(endMs - windowMs);
  const lastRss = await medianRss(service, endMs - Date.now());
  const lastHeap = (await service.memory({ collected: true })).heapUsed;
  return { heap: [firstHeap, lastHeap], rss: [firstRss, lastRss], warmUpMs, windowMs };
}

async function medianRss(service: SoakService, forMs: number): Promise<number> {
  const taken: number[] = [];
  const until = Date.now() + forMs;
  while (Date.now() < until) {
    taken.push((await service.memory()).rss);
    await pause(SAMPLE_EVERY_MS);
  }
  return median(taken);
}

async function pauseUntil(timeMs: number): Promise<void> {
  await pause(Math.max(0, timeMs - Date.now()));
}
