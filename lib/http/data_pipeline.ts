// A data request from parsed parameters to its response, top to bottom: allowed -> resolve the ref -> cached response, or
// make one -> check the ref again where that took long -> send. Where the ref has moved and the source then fails, the
// response of the older commit is sent.

import type { ItemParameters, ListParameters } from "../api/parameters.ts";
import { itemKey, linkHeader, listUrl } from "../api/parameters.ts";
import { listItems } from "../collections/list_items.ts";
import type { ReadContext } from "../collections/read_context.ts";
import { itemBody, readItem } from "../collections/read_item.ts";
import type { Reservation } from "../byte_semaphore.ts";
import { CollectionsError, isSourceFailure, problem } from "../errors.ts";
import {
  BYTES_PER_PROCESSOR_MS,
  isAllowed,
  type RequestContext,
  type Snapshot,
} from "../source/source.ts";
import { requestKey } from "./origin.ts";
import type { MadeBody, ResponseEntry } from "./response_cache.ts";
import {
  type Bytes,
  dataHeaders,
  dataResponse,
  jsonBody,
  negotiateBody,
  rawBody,
} from "./responses.ts";
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
  let reserved: Bytes | null = null;
  let release = () => {};
  try {
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
      const negotiated = negotiateBody(found.entry.body, context.request);
      const { large } = negotiated;
      if (large !== null && reserved !== large) {
        release();
        release = await largeBodies.reserve(large, context);
        reserved = large;
      }
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
      if (large === null) return dataResponse(negotiated, headers);
      const stream = context.pace(large, release);
      // The stream releases its memory from here on.
      release = () => {};
      return dataResponse(negotiated, headers, stream);
    }
  } finally {
    release();
    context.reservation?.release();
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
  const { services: { clock, config, metrics, responses, retries }, context } = state;
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
      const { body, cacheForMs } = await makeShared(address, query, snapshot, state);
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

/** The body of a response. Requests for the same one at the same time share it, and the first is charged. */
async function makeShared(
  address: string,
  query: DataQuery,
  snapshot: Snapshot,
  state: State,
): Promise<MadeBody> {
  const { context, services } = state;
  const key = `${snapshot.commit} ${snapshot.branch} ${address}`;
  for (;;) {
    const isFirst = !services.making.has(key);
    if (isFirst) context.requireMiss();
    try {
      const make = (signal: AbortSignal) => makeBody(query, snapshot, state, signal);
      return await services.making.run(key, make, context.signal);
    } catch (error) {
      // The other client has no misses left, which says nothing about this one.
      const isOthers = error instanceof CollectionsError && error.code === "too-many-requests";
      if (isFirst || !isOthers) throw error;
    }
  }
}

async function makeBody(
  query: DataQuery,
  snapshot: Snapshot,
  state: State,
  signal: AbortSignal,
): Promise<MadeBody> {
  const { responseMemory } = state.services;
  const { client } = state.context;
  let reserved: Reservation | null = null;
  const reserveBytes = async (bytes: number) => {
    reserved?.release();
    reserved = await responseMemory.acquire(bytes, { client, signal });
  };
  try {
    const made = await makeBodyWithin(query, snapshot, state, { signal, reserveBytes });
    state.context.charge(made.body.identity.content.length / BYTES_PER_PROCESSOR_MS);
    return made;
  } finally {
    (reserved as Reservation | null)?.release();
  }
}

async function makeBodyWithin(
  query: DataQuery,
  snapshot: Snapshot,
  { context: requestContext, services }: State,
  { signal, reserveBytes }: Pick<ReadContext, "reserveBytes"> & { readonly signal: AbortSignal },
): Promise<MadeBody> {
  const { clock, compute, config, jobs, objects } = services;
  const { baseUrl, startedAtMs, client } = requestContext;
  const context: RequestContext = {
    client,
    signal,
    recordMiss: (options) => requestContext.recordMiss(options),
    requireMiss: () => requestContext.requireMiss(),
    charge: (processorMs) => requestContext.charge(processorMs),
  };
  const waitMs = config.sourceTimeoutMs * JOB_WAIT_SHARE;
  const read: ReadContext = {
    source: services.sourceOf(snapshot.name.owner),
    ...{ snapshot, context, objects, jobs, compute, clock, startedAtMs, baseUrl },
    limits: { maxItemBytes: config.maxItemBytes, waitMs },
    treeReads: { count: 0 },
    reserveBytes,
  };
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
