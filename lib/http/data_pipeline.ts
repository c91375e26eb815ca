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
import { requestKey } from "./origin.ts";
import type { MadeBody, ResponseEntry } from "./response_cache.ts";
import { dataHeaders, dataResponse, jsonBody, negotiateBody, rawBody } from "./responses.ts";
import type { State } from "./state.ts";

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

interface Found {
  readonly entry: ResponseEntry;
  readonly isComplete: boolean;
  /** Whether it is of an older commit. */
  readonly isOlder?: boolean;
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
    const { entry, isComplete, isOlder = false } = found;
    const { checkedAtMs } = isOlder ? entry : snapshot;
    const { freshForMs } = snapshot.ref;
    const isStale = isOlder || snapshot.freshness === "stale";
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
    const negotiated = negotiateBody(entry.body, context.request);
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
  const { services: { clock, config, making, metrics, responses, retries }, context } = state;
  const { commit, branch, ref, checkedAtMs, freshness } = snapshot;
  const address = query.kind === "list"
    ? listUrl(context.baseUrl, query.parameters)
    : itemKey(context.baseUrl, query.parameters);
  const cached = responses.get(address);
  let entry: ResponseEntry;
  const lasts = cached !== undefined &&
    (freshness === "stale" || clock.now() < cached.expiresAtMs);
  if (lasts && showsSame(cached, snapshot)) {
    metrics.countHit("response");
    entry = { ...cached, ref, checkedAtMs };
  } else {
    const isOlderUsable = cached?.ref === ref && cached.branch === branch &&
      clock.now() - cached.checkedAtMs <= MAX_STALE_MS;
    const key = `${commit} ${address}`;
    const failure = isOlderUsable ? retries.failureOf(key) : null;
    try {
      // A try to make it would be charged as a miss.
      if (failure !== null) throw failure;
      const { body, cacheForMs } = await making.run(
        `${commit} ${branch} ${address}`,
        (signal) => makeBody(query, snapshot, state, signal),
        context.signal,
      );
      const { repository = "", route } = context;
      const expiresAtMs = clock.now() + cacheForMs;
      entry = { body, commit, branch, ref, repository, route, expiresAtMs, checkedAtMs };
      if (cacheForMs === 0) return { entry, isComplete: false };
    } catch (error) {
      // Only a failure of the source lets an older response stand.
      if (!isSourceFailure(error) || !isOlderUsable) throw error;
      if (failure === null) retries.failed(key, error, 1000 * (error.facts.retryAfterSeconds ?? 0));
      return { entry: cached, isComplete: true, isOlder: true };
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

const CACHE_STATUS = {
  fresh: "hit",
  new: "stored",
  unchanged: "revalidated",
  moved: "moved",
  stale: "stale",
} as const;

function cacheStatusOf({ freshness }: Snapshot, missed: boolean, isComplete: boolean) {
  if (!isComplete) return "passed";
  return missed && freshness !== "moved" ? "stored" : CACHE_STATUS[freshness];
}
