// The soak's clients: each asks, has the answer judged, and asks again, until the time is over. What they saw is counted.

import { pause } from "./processes.ts";
import type { SoakExcuse } from "./soak_excuse.ts";
import { type Answer, judge, lacksSource, type Shown } from "./soak_judge.ts";
import { type Choices, chooseRequest, type SoakRequest } from "./soak_requests.ts";
import type { SoakService } from "./soak_service.ts";
import { random, type TrueRepository } from "./soak_truth.ts";

const CLIENTS = 6;
const MAX_PAUSE_MS = 8;
const ANSWER_WITHIN_MS = 20_000;
const MAX_TAGS = 1_000;
const MAX_DESCRIBED = 10;

/** What the clients saw. */
export class SoakTally {
  requests = 0;
  wrong = 0;
  /** The first wrong answers, a line each. */
  readonly described: string[] = [];
  readonly classes = new Map<string, number>();
  /** The greatest `Age`, and time since a shown commit was replaced, of answers that are not stale-if-error. */
  freshAgeMs = 0;
  freshBehindMs = 0;
  /** The same of those that are. */
  staleAgeMs = 0;
  /** Answers without the source at a time when none was allowed. */
  lackingWithoutFault = 0;
  /** The greatest time from a fault's end to the first fresh answer of a hot repository that had none; null: all had. */
  recoveryMs: number | null = null;

  count(name: string): void {
    this.classes.set(name, (this.classes.get(name) ?? 0) + 1);
  }

  addWrong(what: string): void {
    this.wrong++;
    this.count("wrong");
    if (this.described.length < MAX_DESCRIBED) this.described.push(what);
  }
}

/** Asks until `endMs`. */
export async function runLoad(
  { service, excuse, choices }: {
    readonly service: SoakService;
    readonly excuse: SoakExcuse;
    readonly choices: Choices;
  },
  { endMs, tally }: { readonly endMs: number; readonly tally: SoakTally },
): Promise<void> {
  const tags = new Map<string, { etag: string; shown: Shown }>();
  const hot = new Set(choices.hot.map(({ repository }) => repository));
  /** Hot repositories of which the last answer lacked the source. */
  const lacking = new Set<TrueRepository>();
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    while (Date.now() < endMs) {
      await service.whenUp();
      await askOnce(chooseRequest(choices));
      await pause(random(MAX_PAUSE_MS));
    }
  }));

  async function askOnce(request: SoakRequest): Promise<void> {
    const known = random(4) === 0 ? tags.get(request.path) : undefined;
    const sentAtMs = Date.now();
    tally.requests++;
    let answer: Answer;
    try {
      const response = await fetch(service.origin + request.path, {
        method: request.method,
        headers: known === undefined ? {} : { "if-none-match": known.etag },
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      const { status, headers } = response;
      const bytes = await response.bytes();
      answer = { status, headers, bytes, sentAtMs, mayFail: excuse.covers(sentAtMs, Date.now()) };
    } catch (error) {
      if (service.wasDownSince(sentAtMs)) tally.count("none: the process was killed");
      else tally.addWrong(`${request.method} ${request.path}: no answer: ${error}`);
      return;
    }
    const lacks = lacksSource(answer);
    if (lacks && !answer.mayFail) tally.lackingWithoutFault++;
    try {
      const { name, stale, shown } = await judge(request, answer, known?.shown ?? null);
      tally.count(name);
      if (request.repository !== null && hot.has(request.repository)) {
        noteRecovery(request.repository, { lacks, sentAtMs });
      }
      if (stale?.ifError === false) {
        tally.freshAgeMs = Math.max(tally.freshAgeMs, stale.ageMs);
        tally.freshBehindMs = Math.max(tally.freshBehindMs, stale.behindMs);
      } else if (stale !== undefined) tally.staleAgeMs = Math.max(tally.staleAgeMs, stale.ageMs);
      if (shown !== undefined) remember(request.path, answer.headers.get("etag")!, shown);
    } catch (error) {
      const at = new Date(sentAtMs).toISOString();
      tally.addWrong(`${at} ${request.method} ${request.path}: ${(error as Error).message}`);
    }
  }

  function noteRecovery(
    repository: TrueRepository,
    { lacks, sentAtMs }: { readonly lacks: boolean; readonly sentAtMs: number },
  ): void {
    const endedMs = excuse.lastEndMs();
    if (lacks) lacking.add(repository);
    else if (sentAtMs >= endedMs && lacking.delete(repository)) {
      tally.recoveryMs = Math.max(tally.recoveryMs ?? 0, Date.now() - endedMs);
    }
  }

  function remember(path: string, etag: string, shown: Shown): void {
    tags.delete(path);
    tags.set(path, { etag, shown });
    if (tags.size > MAX_TAGS) tags.delete(tags.keys().next().value!);
  }
}
