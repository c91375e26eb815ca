// What happens to the soak's source: commits, and every so often a fault for some seconds. It keeps when it was failing,
// since a problem or an answer from before is right only then and shortly after (soak_excuse.ts).

import type { Fault } from "../tests/github/github_faults.ts";
import type { RunningDouble } from "../tests/github/start_double.ts";
import { pause } from "./processes.ts";
import { random, type TrueRepository } from "./soak_truth.ts";

/** Time allowed for one upstream request, SOURCE_TIMEOUT_MS of the service. */
export const SOURCE_TIMEOUT_MS = 3_000;
/** Shorter than the first rest that the service gives its source, see soak_excuse.ts. */
const FAULT_MS = 3_000;
const BETWEEN_MS = 6_000;
const COMMIT_EVERY_MS = 2_000;

const FAULTS: readonly (() => Fault | "down")[] = [
  () => ({ kind: "status", status: 500 }),
  () => ({ kind: "garbage" }),
  () => ({ kind: "quota403", resetAtMs: Date.now() + FAULT_MS }),
  () => ({ kind: "hang" }),
  () => ({ kind: "wrong-bytes" }),
  () => "down",
  () => ({ kind: "secondary429", retryAfterSeconds: FAULT_MS / 1000 }),
  () => ({ kind: "reset" }),
];

/** A failing and an answering source, by turns. */
export class SoakSource {
  /** Faults so far, by name. */
  readonly faults: string[] = [];
  commits = 0;
  /** When it failed, oldest first. */
  readonly failing: { fromMs: number; toMs: number }[] = [];

  constructor(private readonly double: RunningDouble) {}

  /** Commits every other second to one of them. */
  async commitUntil(endMs: number, repositories: readonly TrueRepository[]): Promise<void> {
    while (Date.now() + COMMIT_EVERY_MS < endMs) {
      await pause(COMMIT_EVERY_MS);
      await repositories[random(repositories.length)]!.change();
      this.commits++;
    }
  }

  /** One fault after the other, with time to recover between; the last is over at `endMs`. */
  async failUntil(endMs: number): Promise<void> {
    for (let turn = 0; Date.now() + BETWEEN_MS + FAULT_MS < endMs; turn++) {
      await pause(BETWEEN_MS);
      const fault = FAULTS[turn % FAULTS.length]!();
      this.faults.push(fault === "down" ? fault : fault.kind);
      const period = { fromMs: Date.now(), toMs: Infinity };
      this.failing.push(period);
      if (fault === "down") await this.double.call("down");
      else await this.double.call("set", { fault });
      await pause(FAULT_MS);
      if (fault === "down") await this.double.call("up");
      else await this.double.call("set", { fault: null });
      await this.double.call("release");
      period.toMs = Date.now();
    }
  }
}
