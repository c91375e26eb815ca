// A data request from parsed parameters to its response, top to bottom: allowed -> resolve the ref -> cached response, or
// make one -> check the ref again where that took long -> send. When the source fails, an older response is sent.

import type { ItemParameters, ListParameters } from "../api/parameters.ts";
import { itemUrl, linkHeader, listUrl } from "../api/urls.ts";
import { listItems } from "../collections/list_items.ts";
import type { ReadContext } from "../collections/read_context.ts";
import { itemBody, readItem } from "../collections/read_item.ts";
import { CollectionsError, isSourceFailure, repositoryNotAllowed } from "../errors.ts";
import type { Services } from "../services.ts";
import { isAllowed, type Snapshot } from "../source/source.ts";
import type { ResponseEntry } from "./response_cache.ts";
import {
  type CacheStatus,
  type Content,
  dataHeaders,
  dataResponse,
  jsonContent,
  largeBytes,
  negotiateBody,
  rawContent,
  readyBody,
} from "./responses.ts";
import { type HttpContext, requestKey, type State } from "./state.ts";

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
/** For how long an older response is sent without a try to make the new one, which would be charged as a miss. */
const RETRY_MS = { least: 5_000, most: 60_000 };

/** A response before it is sent: its cache entry, the check that it rests on, and whether it lacks anything. */
interface Shown {
  readonly entry: ResponseEntry;
  readonly checkedAtMs: number;
  readonly cacheStatus: CacheStatus;
  readonly isComplete: boolean;
}

/** Answers one GET or HEAD. @throws {CollectionsError} whatever resolving and reading throw. */
export async function serveData(query: DataQuery, state: State): Promise<Response> {
  const { services, context } = state;
  const { owner, repo, branch = null } = query.parameters;
  const { config, clock, largeBodies } = services;
  context.repository = `${owner}/${repo}`;
  if (!isAllowed(config.allowedRepos, { owner, repo })) throw repositoryNotAllowed(owner, repo);
  const address = addressOf(query, context.baseUrl);
  const source = services.sourceOf(owner);

  let release = () => {};
  let reserved: Uint8Array | null = null;
  try {
    let shown: Shown | null = null;
    for (let check = 0;; check++) {
      const snapshot = await source.resolve({ owner, repo, branch }, context);
      shown = await show(query, { snapshot, state, address, before: shown });
      const negotiated = negotiateBody(shown.entry.body, context.request.headers);
      const large = largeBytes(negotiated, context.request.method);
      if (large !== null && reserved !== large) {
        release();
        release = await largeBodies.reserve(large, context);
        reserved = large;
      }
      // Reading and waiting may have taken longer than the check is good for.
      if (check < MAX_RECHECKS && isOutdated(snapshot, clock.now())) continue;
      const { checkedAtMs, cacheStatus, isComplete, entry } = shown;
      if (cacheStatus === "stale") services.metrics.countStale();
      const { freshForMs } = entry.ref;
      const response = dataResponse(
        negotiated,
        dataHeaders(
          { requestId: context.id, checkedAtMs, freshForMs, cacheStatus, isStorable: isComplete },
          clock.now(),
        ),
        large === null ? undefined : largeBodies.stream(large, release),
      );
      // The stream releases its memory from here on.
      if (large !== null) release = () => {};
      return response;
    }
  } finally {
    release();
    context.takeReservation()?.release();
  }
}

/** The normalised address of a response: its cache key. */
function addressOf(query: DataQuery, baseUrl: string): string {
  return query.kind === "list"
    ? listUrl(baseUrl, query.parameters)
    : itemUrl(baseUrl, query.parameters);
}

/** The response for a snapshot: the previous one, the cached one, a new one, or an older one where the source fails. */
async function show(
  query: DataQuery,
  { snapshot, state, address, before }: {
    snapshot: Snapshot;
    state: State;
    address: string;
    before: Shown | null;
  },
): Promise<Shown> {
  const { services, context } = state;
  const { responses, metrics } = services;
  const cached = responses.get(address);
  let entry = [before?.entry, cached].find((entry) => entry && showsSame(entry, snapshot));
  let isComplete = true;
  if (entry === undefined) {
    const nowMs = services.clock.monotonicMs();
    const isWaiting = cached?.failed?.commit === snapshot.commit && nowMs < cached.failed.untilMs;
    try {
      if (isWaiting) throw cached.failed.error;
      const made = await make(query, { snapshot, state });
      isComplete = made.isComplete;
      entry = {
        body: await readyBody(made.content),
        commit: snapshot.commit,
        branch: snapshot.branch,
        ref: snapshot.ref,
        repository: context.repository ?? "",
        route: context.route,
      };
    } catch (error) {
      const fallback = staleFallback(error, { snapshot, cached, nowMs: services.clock.now() });
      if (fallback === null) throw error;
      if (!isWaiting) {
        const untilMs = nowMs + retryMs(error);
        responses.set(address, {
          ...fallback.entry,
          failed: { commit: snapshot.commit, error, untilMs },
        });
      }
      return fallback;
    }
  } else if (entry === before?.entry) isComplete = before.isComplete;
  else metrics.countHit("response");

  if (entry.ref !== snapshot.ref) entry = { ...entry, ref: snapshot.ref };
  if (isComplete) {
    if (cached?.body !== entry.body || cached.ref !== entry.ref) responses.set(address, entry);
    // The fast path must not send a stale response: the next request then queries the source again.
    if (snapshot.freshness !== "stale") {
      responses.alias(requestKey(context.request, services.config), address);
    }
  }
  return {
    entry,
    checkedAtMs: snapshot.checkedAtMs,
    cacheStatus: cacheStatusOf(snapshot, { context, isComplete }),
    isComplete,
  };
}

/** Whether a response fits a snapshot: the same files, and the same branch name as in the body. */
function showsSame(entry: ResponseEntry, { commit, branch }: Snapshot): boolean {
  return entry.commit === commit && entry.branch === branch;
}

/**
 * The response for an earlier commit, where the ref has moved and the source then fails. Null for every other error, and
 * where the source first answered that the repository or the ref is missing.
 */
function staleFallback(
  error: unknown,
  { snapshot, cached, nowMs }: {
    snapshot: Snapshot;
    cached: ResponseEntry | undefined;
    nowMs: number;
  },
): Shown | null {
  if (!isSourceFailure(error) || error.denial !== undefined) return null;
  if (cached?.ref !== snapshot.ref || cached.branch !== snapshot.branch) return null;
  const found = snapshot.ref.previous.find(({ commit }) => commit === cached.commit);
  if (found === undefined || nowMs - found.checkedAtMs > MAX_STALE_MS) return null;
  return { entry: cached, checkedAtMs: found.checkedAtMs, cacheStatus: "stale", isComplete: true };
}

function retryMs(error: unknown): number {
  const seconds = error instanceof CollectionsError ? error.facts.retryAfterSeconds ?? 0 : 0;
  return Math.min(Math.max(seconds * 1000, RETRY_MS.least), RETRY_MS.most);
}

/** Makes the content of a response; one that is not complete lacks files that the source failed to give. */
async function make(
  query: DataQuery,
  { snapshot, state }: { snapshot: Snapshot; state: State },
): Promise<{ content: Content; isComplete: boolean }> {
  const { context, services } = state;
  const read = readContextOf(snapshot, { context, services });
  const { baseUrl } = context;
  switch (query.kind) {
    case "list": {
      const { body, complete } = await listItems(query.parameters, read, { baseUrl });
      const content = await jsonContent({ ...body }, { link: linkHeader(body.links) });
      return { content, isComplete: complete };
    }
    case "item": {
      const file = await readItem(query.parameters, read);
      if (query.parameters.format === "raw") {
        return { content: rawContent(file), isComplete: true };
      }
      const { body, complete } = await itemBody(file, query.parameters, { read, baseUrl });
      return { content: await jsonContent({ ...body }), isComplete: complete };
    }
  }
}

function readContextOf(
  snapshot: Snapshot,
  { context, services }: { context: HttpContext; services: Services },
): ReadContext {
  const { clock, config, jobs, markdown, objects } = services;
  return {
    source: services.sourceOf(snapshot.name.owner),
    snapshot,
    context,
    objects,
    jobs,
    markdown,
    clock,
    startedAtMs: context.startedAtMs,
    limits: {
      maxItemBytes: config.maxItemBytes,
      waitMs: config.sourceTimeoutMs * JOB_WAIT_SHARE,
    },
    treeReads: { count: 0 },
    reserveBytes: (bytes) => context.reserveBytes(bytes),
  };
}

/** Whether a check was valid when it was made, and is too old now. */
function isOutdated({ freshness, checkedAtMs, ref }: Snapshot, nowMs: number): boolean {
  return freshness !== "stale" && nowMs - checkedAtMs >= ref.freshForMs;
}

function cacheStatusOf(
  { freshness }: Snapshot,
  { context, isComplete }: { context: HttpContext; isComplete: boolean },
): CacheStatus {
  if (freshness === "stale") return "stale";
  if (!isComplete) return "passed";
  if (freshness === "moved") return "moved";
  return context.missed || freshness === "miss" ? "stored" : freshness;
}
