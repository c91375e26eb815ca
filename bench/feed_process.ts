// One process of `bench:feed` on a SQLite file. `publish` publishes 80 names at
// the beginning of each round and counts those that it hears of; `write` writes
// objects all the time. Prints one line of JSON once the file `<store>.end` is
// there.
//
//   feed_process.ts publish|write <id> <store> <start, ms since the epoch> <rounds> <round, ms>

import { existsSync } from "node:fs";
import { openKv } from "../lib/cache/open_kv.ts";
import { KvTier } from "../lib/cache/kv_tier.ts";
import { ChangeFeed } from "../lib/source/change_feed.ts";
import { systemClock as clock } from "../lib/work/clock.ts";

const NAMES = 80;
const OBJECT_BYTES = 50_000;
const [task, id, path = "", ...numbers] = Deno.args;
const [startAtMs = 0, rounds = 0, roundMs = 0] = numbers.map(Number);

const errors = new Map<string, number>();
const tier = new KvTier(() => openKv(path, clock), {
  clock,
  scope: "bench",
  maxBytesPerHour: Infinity,
  onError(error) {
    errors.set(`${error}`, (errors.get(`${error}`) ?? 0) + 1);
  },
});
const isOver = () => existsSync(`${path}.end`);
const heard = new Map<string, number>();
let objects = 0;

if (task === "publish") {
  const feed = new ChangeFeed({
    ...{ tier, clock, scope: "bench", isRemote: false },
    onChange: (name) => void heard.set(name, (heard.get(name) ?? 0) + 1),
    onDelay() {},
  });
  await feed.start();
  for (let round = 0; round < rounds; round++) {
    await clock.sleep(Math.max(0, startAtMs + round * roundMs - clock.now()));
    for (let n = 0; n < NAMES; n++) feed.publish(`octo/${id}-${round}-${n}`);
  }
  while (!isOver()) await clock.sleep(100);
  await feed.close();
} else {
  const bytes = crypto.getRandomValues(new Uint8Array(OBJECT_BYTES));
  for (; !isOver(); objects++) {
    tier.set(["object", `${objects % 1_000}`], bytes, { ttlMs: 60_000 });
    if (objects % 10 === 0) await tier.flush();
    await clock.sleep(2);
  }
}
await tier.close();
const repeated = [...heard.values()].filter((count) => count > 1).length;
const failures = Object.fromEntries(errors);
console.log(JSON.stringify({ heard: heard.size, repeated, objects, failures }));
