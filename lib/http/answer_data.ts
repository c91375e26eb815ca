// The way of every data answer: resolve the ref, take the answer that is kept for its commit or make it, and say how old
// it is. Routes give what is theirs: the question, the address, and how the body is made.

import type { Reading } from "../collections/find_entry.ts";
import { withPrevious } from "../collections/with_previous.ts";
import type { RefQuestion, Snapshot } from "../repository/repository.ts";
import type { Services } from "../services.ts";
import {
  type AnswerForm,
  type CacheStatus,
  chooseForm,
  dataResponse,
  needsRoom,
  type ResponseOptions,
  type Standing,
} from "./data_response.ts";
import type { Exchange } from "./exchange.ts";
import { pacedBody } from "./paced_body.ts";
import { type Content, type ReadyBody, readyBody } from "./ready_body.ts";
import { requestKey } from "./request_key.ts";
import type { ResponseEntry } from "./response_cache.ts";
import type { State } from "./state.ts";

/** A route's part of a data answer. */
export interface DataQuestion {
  readonly question: RefQuestion;
  /** The normalised address of the answer, origin included: its key. */
  readonly address: string;
  /** Makes the answer; one that is not `complete` is given but not kept. */
  readonly make: (reading: Reading) => Promise<{ content: Content; complete: boolean }>;
}

interface Made {
  readonly entry: ResponseEntry;
  readonly snapshot: Snapshot;
  readonly complete: boolean;
}

/** After so many, what takes longer than a check is good for is given with its age. */
const MAX_RECHECKS = 3;

/** Answers one GET. @throws {CollectionsError} whatever resolving and making throw. */
export async function answerData(question: DataQuestion, state: State): Promise<Response> {
  try {
    return await answer(question, state);
  } finally {
    // What is sent from here on has its own place.
    state.exchange.leaveRoom();
  }
}

async function answer(
  { question, address, make }: DataQuestion,
  { services, exchange }: State,
): Promise<Response> {
  exchange.subject = `${question.owner}/${question.repo}`;
  services.requireAllowed(question);
  const { responses, metrics } = services;
  const repository = services.repositoryOf(question.owner);
  const read = (resolved: Snapshot): Promise<Made> =>
    withPrevious(resolved, async (snapshot) => {
      const kept = responses.get(address);
      if (kept !== undefined && showsSame(kept, snapshot)) {
        metrics.countHit("response");
        return { entry: { ...kept, check: snapshot.check }, snapshot, complete: true };
      }
      const { content, complete } = await make({ repository, snapshot, caller: exchange });
      const entry: ResponseEntry = {
        body: await readyBody(content),
        commit: snapshot.commit,
        branch: snapshot.branch,
        check: snapshot.check,
        subject: exchange.subject!,
        route: exchange.route,
      };
      return { entry, snapshot, complete };
    });
  const keep = ({ entry, snapshot, complete }: Made): void => {
    if (!complete || snapshot !== resolved) return;
    const kept = responses.get(address);
    if (kept?.check !== entry.check || !showsSame(kept, entry)) responses.set(address, entry);
    // A stale answer must go this way again, so that the source is asked as soon as it may be.
    if (snapshot.freshness !== "stale") {
      responses.alias(requestKey(exchange.request, services.config), address);
    }
  };
  let resolved = await repository.resolve(question, exchange);
  let made = await read(resolved);
  keep(made);
  let way = await wayOut(made.entry.body, { services, exchange });
  // All this may take so long that the check is too old by now: then the ref is asked for again, and what has been made
  // stands if it has not moved.
  for (let again = 0; again < MAX_RECHECKS && isOutdated(made.snapshot, services); again++) {
    resolved = await repository.resolve(question, exchange);
    const stands = showsSame(made.snapshot, resolved);
    made = stands
      ? { ...made, entry: { ...made.entry, check: resolved.check }, snapshot: resolved }
      : await read(resolved);
    keep(made);
    if (!stands) way = await wayOut(made.entry.body, { services, exchange });
  }
  const { snapshot, complete } = made;
  const standing: Standing = {
    askedAtMs: snapshot.askedAtMs,
    freshMs: snapshot.check.freshMs,
    cacheStatus: complete || snapshot.freshness === "stale"
      ? statusOf(snapshot, exchange)
      : "passed",
    isKept: complete,
  };
  if (standing.cacheStatus === "stale") metrics.countStale();
  const { form, ...send } = way;
  return dataResponse(form, {
    ...send,
    standing,
    requestId: exchange.id,
    nowMs: services.clock.now(),
  });
}

/** What an answer shows of its repository's state. */
type Shown = Pick<Snapshot, "commit" | "branch">;

/** Whether what is made of one of these is right for the other: the files are the same, and the branch in the body. */
function showsSame(one: Shown, other: Shown): boolean {
  return one.commit === other.commit && one.branch === other.branch;
}

/** Whether a snapshot's check was good when it was taken, and is too old now. */
function isOutdated({ freshness, askedAtMs, check }: Snapshot, { clock }: Services): boolean {
  return freshness !== "stale" && clock.now() - askedAtMs >= check.freshMs;
}

/** The form in which a body is sent, and how: in pieces, while it has room, where it is large. */
async function wayOut(
  body: ReadyBody,
  { services: { room }, exchange }: State,
): Promise<{ form: AnswerForm } & Pick<ResponseOptions, "send">> {
  const form = chooseForm(body, exchange.request.headers);
  if (!needsRoom(form, exchange.request.method)) return { form };
  const { bytes } = form.coded;
  if (!room.isSent(bytes)) await exchange.makeRoom(bytes.length);
  return { form, send: () => pacedBody(bytes, room.send(bytes)) };
}

function statusOf(snapshot: Snapshot, exchange: Exchange): CacheStatus {
  if (snapshot.freshness === "stale") return "stale";
  if (snapshot.freshness === "moved") return "moved";
  if (exchange.missed || snapshot.freshness === "miss") return "stored";
  return snapshot.freshness;
}
