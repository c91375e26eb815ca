// A data request from parsed parameters to its response, top to bottom: allowed -> resolve the ref -> cached response, or
// make one -> check the ref again where that took long -> send. Where the ref has moved and the source then fails, the
// response of the older commit is sent.

import type { ItemParameters, ListParameters } from "../api/parameters.ts";
import { itemKey, linkHeader, listUrl } from "../api/parameters.ts";
import { listItems } from "../collections/list_items.ts";
import type { ReadContext } from "../collections/read_context.ts";
import { itemBody, readItem } from "../collections/read_item.ts";
import { isSourceFailure, problem } from "../errors.ts";
import {
  BYTES_PER_PROCESSOR_MS,
  isAllowed,
  type RequestContext,
  type Snapshot,
} from "../source/source.ts";
import type { Permit } from "../work/fair_queue.ts";
import type { MadeBody, ResponseEntry } from "./response_cache.ts";
import { dataHeaders, dataResponse, jsonBody, negotiateBody, rawBody } from "./responses.ts";
import { requestKey, type State } from "./state.ts";

/** A route's request for data. */
export type DataQuery =
  | { readonly kind: "list"; readonly parameters: ListParameters }
  | { readonly kind: "item"; readonly parameters: ItemParameters };

/** After so many checks, a response that takes longer to make than a check is valid for is sent with its age. */
const MAX_RECHECKS = 3;
/** Of SOURCE_TIMEOUT_MS: how long a request waits for a background job, counted from its start. */
const JOB_WAIT_SHARE = 0.8;
/** An older response is sent for at most a day after the check that it rests on. */
const MAX_STALE_MS = 24 * 3_600_000;
/** For how long it is sent without a try to make the new one, which would be charged as a miss. */
const RETRY_MS = { least: 5_000, most: 60_000 };

interface Found {
  readonly entry: ResponseEntry;
  readonly isComplete: boolean;
  /** For the response of an older commit: when a check last found that commit, in ms since the epoch. */
  readonly olderCheckedAtMs?: number;
}

/** Answers one GET or HEAD. @throws {CollectionsError} whatever resolving and reading throw. */
export async function serveData(query: DataQuery, state: State): Promise<Response> {
  const { services, context } = state;
  const { owner, repo, branch = null } = query.parameters;
  const { config, clock, largeBodies, metrics } = services;
  context.repository = `${owner}/${repo}`;
  if (!isAllowed(config.allowedRepos, { owner, repo })) {
    throw problem("repository-not-allowed", { owner, repo });
  }

  let found: Found | null = null;
  for (let check = 0;; check++) {
    const snapshot = await services.sourceOf(owner).resolve({ owner, repo, branch }, context);
    // Reading may have shown that the state is outdated: a local file was edited meanwhile.
    const mayRepeat = () => snapshot.ref.checkedAtMs === 0 && check < MAX_RECHECKS;
    if (found === null || !showsSame(found.entry, snapshot)) {
      try {
        found = await findResponse(query, snapshot, state);
      } catch (error) {
        if (mayRepeat()) continue;
        throw error;
      }
    }
    if (mayRepeat()) continue;
    const { olderCheckedAtMs, isComplete } = found;
    const checkedAtMs = olderCheckedAtMs ?? snapshot.checkedAtMs;
    const { freshForMs } = snapshot.ref;
    const isStale = snapshot.freshness === "stale" || olderCheckedAtMs !== undefined;
    // Reading and waiting may have taken longer than the check is good for.
    const isOutdated = !isStale && clock.now() - checkedAtMs >= freshForMs;
    if (isOutdated && check < MAX_RECHECKS) continue;
    if (isStale) metrics.countStale();
    const headers = dataHeaders({
      requestId: context.id,
      checkedAtMs,
      freshForMs,
      cacheStatus: isStale ? "stale" : cacheStatusOf(snapshot, context.missed, isComplete),
      isStorable: isComplete,
    }, clock.now());
    const negotiated = negotiateBody(found.entry.body, context.request);
    const { large } = negotiated;
    const stream = large === null
      ? undefined
      : context.pace(large, largeBodies.hold(large, context.client));
    return dataResponse(negotiated, headers, stream);
  }
}

/** Whether a response fits a snapshot: the same files, and the same branch name as in the body. */
function showsSame(entry: ResponseEntry, { commit, branch }: Snapshot): boolean {
  return entry.commit === commit && entry.branch === branch;
}

/**
 * The cached response for a snapshot, or a new one, which is cached unless it lacks files that the source failed to give,
 * or, where the source fails, the cached one of an older commit.
 */
async function findResponse(query: DataQuery, snapshot: Snapshot, state: State): Promise<Found> {
  const { services: { clock, config, making, metrics, responses }, context } = state;
  const { commit, branch, ref } = snapshot;
  const address = query.kind === "list"
    ? listUrl(context.baseUrl, query.parameters)
    : itemKey(context.baseUrl, query.parameters);
  const cached = responses.get(address);
  let entry: ResponseEntry;
  const isStale = snapshot.freshness === "stale";
  const lasts = cached !== undefined && (isStale || clock.now() < cached.expiresAtMs);
  if (lasts && showsSame(cached, snapshot)) {
    metrics.countHit("response");
    entry = { ...cached, ref };
  } else {
    const failed = cached?.failed?.commit === commit ? cached.failed : null;
    const isWaiting = failed !== null && clock.monotonicMs() < failed.untilMs;
    try {
      if (isWaiting) throw failed.error;
      const { body, cacheForMs } = await making.run(
        `${commit} ${branch} ${address}`,
        (signal) => makeBody(query, snapshot, state, signal),
        context.signal,
      );
      const { repository = "", route } = context;
      const expiresAtMs = clock.now() + cacheForMs;
      entry = { body, commit, branch, ref, repository, route, expiresAtMs };
      if (cacheForMs === 0) return { entry, isComplete: false };
    } catch (error) {
      // Only a failure of the source lets an older response stand, and none that first said the ref is missing.
      if (!isSourceFailure(error) || error.denial !== undefined) throw error;
      if (cached?.ref !== ref || cached.branch !== branch) throw error;
      const older = ref.previous.find(({ commit }) => commit === cached.commit);
      if (older === undefined || clock.now() - older.checkedAtMs > MAX_STALE_MS) throw error;
      if (!isWaiting) {
        const retryAfterMs = 1000 * (error.facts.retryAfterSeconds ?? 0);
        const waitMs = Math.min(Math.max(retryAfterMs, RETRY_MS.least), RETRY_MS.most);
        const untilMs = clock.monotonicMs() + waitMs;
        responses.set(address, { ...cached, failed: { commit, error, untilMs } });
      }
      return { entry: cached, isComplete: true, olderCheckedAtMs: older.checkedAtMs };
    }
  }
  responses.set(address, entry);
  responses.alias(requestKey(context.request, config), address);
  return { entry, isComplete: true };
}

/** Makes a body for the requests that share it; the first of them is charged. */
async function makeBody(
  query: DataQuery,
  snapshot: Snapshot,
  { context: request, services }: State,
  signal: AbortSignal,
): Promise<MadeBody> {
  const { clock, compute, config, jobs, largeBodies, objects, responseMemory } = services;
  const { baseUrl, client, startedAtMs } = request;
  request.requireMiss();
  let memory = null as Permit | null;
  const context: RequestContext = {
    client,
    signal,
    recordMiss: (options) => request.recordMiss(options),
    requireMiss: () => request.requireMiss(),
    charge: (processorMs) => request.charge(processorMs),
  };
  const waitMs = config.sourceTimeoutMs * JOB_WAIT_SHARE;
  const read: ReadContext = {
    source: services.sourceOf(snapshot.name.owner),
    ...{ snapshot, context, objects, jobs, compute, clock, startedAtMs, baseUrl },
    limits: { maxItemBytes: config.maxItemBytes, waitMs },
    treeReads: { count: 0 },
    async reserveBytes(weight) {
      // Not held meanwhile: requests with parts of the memory would wait for each other.
      memory?.release();
      return memory = await responseMemory.acquire({ client, weight, signal });
    },
  };
  try {
    const made = await readBodyOf(query, read);
    const { content } = made.body.identity;
    request.charge(content.length / BYTES_PER_PROCESSOR_MS);
    if (memory !== null && typeof content !== "string") {
      memory.resize(content.length);
      // By the next turn the requests that share the body hold it.
      void clock.sleep(0).then(largeBodies.hold(content, client, memory));
      memory = null;
    }
    return made;
  } finally {
    memory?.release();
  }
}

async function readBodyOf(query: DataQuery, read: ReadContext): Promise<MadeBody> {
  if (query.kind === "list") {
    const { json, links, cacheForMs } = await listItems(query.parameters, read);
    const link = linkHeader(links);
    return { body: await jsonBody(json, link === null ? {} : { link }), cacheForMs };
  }
  const file = await readItem(query.parameters, read);
  if (query.parameters.format === "raw") return { body: await rawBody(file), cacheForMs: Infinity };
  const { json, cacheForMs } = await itemBody(file, query.parameters, read);
  return { body: await jsonBody(json), cacheForMs };
}

function cacheStatusOf({ freshness }: Snapshot, missed: boolean, isComplete: boolean) {
  if (!isComplete) return "passed";
  if (freshness === "moved") return "moved";
  return missed || freshness === "miss" ? "stored" : freshness;
}
