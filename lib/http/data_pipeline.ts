// Turns the parameters of a data request into a response. It resolves the ref.
// Then it takes the response from the cache or makes a new one. If that took
// long, it checks the ref again. If the ref has moved and the source then
// fails, it sends the response for the older commit.

import { linkHeader, responseKey } from "../api/parameters.ts";
import {
  type Answer,
  type ReadContext,
  ReservedMemory,
} from "../collections/read_context.ts";
import { contentTypeOf, rawContentType } from "../content/file_names.ts";
import { isSourceFailure, problem } from "../errors.ts";
import {
  BYTES_PER_PROCESSOR_MS,
  isAllowed,
  type RepositoryName,
  type Snapshot,
} from "../source/source.ts";
import { tagHeaders } from "./cache_tags.ts";
import { requestKey } from "./origin.ts";
import {
  type MadeBody,
  RESPONSE_HIT,
  type ResponseEntry,
} from "./response_cache.ts";
import {
  contentDisposition,
  dataHeaders,
  INERT,
  JSON_TYPE,
  readyBody,
} from "./responses.ts";
import { define, type State } from "./state.ts";

/** A parsed request for data. */
interface DataQuery {
  readonly parameters: RepositoryName & {
    readonly branch?: string | undefined;
  };
  readonly answer: (read: ReadContext) => Promise<Answer>;
}

/**
 * A ref is checked again if its check expires while the response is made. After
 * this many rechecks the response is sent with its age.
 */
const MAX_RECHECKS = 3;
/**
 * Share of SOURCE_TIMEOUT_MS that a request waits for a background job. The
 * wait counts from the start of the request.
 */
const JOB_WAIT_SHARE = 0.8;
/** Maximum age of the last check of a response for an older commit: one day. */
const MAX_STALE_MS = 24 * 3_600_000;

interface Found {
  entry: ResponseEntry;
  isComplete: boolean;
  /** Whether the response was made from an older commit. */
  isOlder?: boolean;
}

/** Returns the handlers of a route for data. */
export function dataHandlers<Parameters extends DataQuery["parameters"]>(
  parse: (search: string) => Parameters,
  answer: (parameters: Parameters, read: ReadContext) => Promise<Answer>,
) {
  return define.handlers({
    GET({ url, state }) {
      const parameters = state.context.check(() => parse(url.search.slice(1)));
      const query = {
        parameters,
        answer: (read: ReadContext) => answer(parameters, read),
      };
      return serveData(query, state);
    },
  });
}

/**
 * Responds to one GET or HEAD request.
 * @throws {CollectionsError} what resolving and reading throw.
 */
async function serveData(
  query: DataQuery,
  state: State,
): Promise<Response> {
  const { services, context } = state;
  const { owner, repo, branch = null } = query.parameters;
  const { config, clock, edge, largeBodies, metrics } = services;
  context.repository = `${owner}/${repo}`;
  if (!isAllowed(config.allowedRepos, { owner, repo })) {
    throw problem("repository-not-allowed", { owner, repo });
  }

  let found: Found | null = null;
  for (let check = 0;; check++) {
    const snapshot = await services.sourceOf(owner).resolve({
      owner,
      repo,
      branch,
    }, context);
    // Reading sets `checkedAtMs` to 0 if a local file was edited meanwhile.
    const mayRepeat = () =>
      snapshot.ref.checkedAtMs === 0 && check < MAX_RECHECKS;
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
    const { freshness, ref: { freshForMs } } = snapshot;
    const isStale = isOlder || freshness === "stale";
    // The check may have expired while the request was reading or waiting.
    const isOutdated = !isStale && clock.now() - checkedAtMs >= freshForMs;
    if (isOutdated && check < MAX_RECHECKS) continue;
    if (isStale) metrics.count("stale_answers_total");
    // Once the ref has moved or is missing its tag may already be purged.
    const isHeld = !isStale && entry.expiresAtMs === Infinity &&
      snapshot.ref.commit === entry.commit && snapshot.ref.checkedAtMs > 0;
    const cacheStatus = isStale
      ? "stale"
      : !isComplete
      ? "incomplete"
      : context.missed && freshness !== "moved"
      ? "new"
      : freshness;
    const headers = dataHeaders(
      {
        requestId: context.id,
        checkedAtMs,
        freshForMs,
        cacheStatus,
        isStorable: isComplete,
        isHeld,
      },
      edge,
      clock.now(),
    );
    return context.respond(
      entry.body,
      headers,
      (bytes) => largeBodies.hold(bytes, context.client),
    );
  }
}

/** Whether a response has the files and the branch name of a snapshot. */
function showsSame(
  entry: ResponseEntry,
  { commit, branch }: Snapshot,
): boolean {
  return entry.commit === commit && entry.branch === branch;
}

/**
 * Returns the cached response or makes a new one. A response that lacks files
 * because the source failed is not cached. If the source fails completely, the
 * cached response of an older commit is returned.
 */
async function findResponse(
  query: DataQuery,
  snapshot: Snapshot,
  state: State,
): Promise<Found> {
  const {
    services: { clock, config, making, metrics, responses, retries },
    context,
  } = state;
  const { commit, branch, ref, checkedAtMs, freshness } = snapshot;
  const parameters = responseKey(query.parameters);
  const address = `${context.baseUrl}${context.route}?${parameters}`;
  const cached = responses.get(address);
  let entry: ResponseEntry;
  const lasts = cached !== undefined &&
    (freshness === "stale" || clock.now() < cached.expiresAtMs);
  if (lasts && showsSame(cached, snapshot)) {
    metrics.count(RESPONSE_HIT);
    entry = { ...cached, ref, checkedAtMs };
  } else {
    // The state of a ref belongs to one branch.
    const isOlderUsable = cached?.ref === ref &&
      clock.now() - cached.checkedAtMs <= MAX_STALE_MS;
    const key = `${commit} ${address}`;
    const failure = isOlderUsable ? retries.failureOf(key) : null;
    try {
      // Another attempt would be charged as a miss.
      if (failure !== null) throw failure;
      const { body, cacheForMs } = await making.run(
        `${commit} ${branch} ${address}`,
        (signal) => makeBody(query, snapshot, state, signal),
        context.signal,
      );
      const { repository = "", route } = context;
      const expiresAtMs = clock.now() + cacheForMs;
      entry = {
        body,
        commit,
        branch,
        ref,
        repository,
        route,
        expiresAtMs,
        checkedAtMs,
      };
      if (cacheForMs === 0) return { entry, isComplete: false };
    } catch (error) {
      // Older responses are sent only if the source fails.
      if (!isSourceFailure(error) || !isOlderUsable) throw error;
      if (failure === null) {
        retries.failed(key, error, 1000 * (error.facts.retryAfterSeconds ?? 0));
      }
      return { entry: cached, isComplete: true, isOlder: true };
    }
  }
  responses.set(address, entry);
  responses.alias(requestKey(context.request, config), address);
  return { entry, isComplete: true };
}

/**
 * Makes a body that several requests may share. The first request is charged.
 */
async function makeBody(
  query: DataQuery,
  snapshot: Snapshot,
  { context: request, services }: State,
  signal: AbortSignal,
): Promise<MadeBody> {
  const {
    clock,
    compute,
    config,
    fileMemory,
    htmlMemory,
    jobs,
    largeBodies,
    objects,
    responseMemory,
  } = services;
  const { baseUrl, charge, client, recordMiss, requireMiss, startedAtMs } =
    request;
  requireMiss();
  using memory = new ReservedMemory(responseMemory, { client, signal });
  const context = { client, signal, recordMiss, requireMiss, charge };
  const waitMs = config.sourceTimeoutMs * JOB_WAIT_SHARE;
  const read: ReadContext = {
    source: services.sourceOf(snapshot.name.owner),
    snapshot,
    context,
    objects,
    jobs,
    compute,
    clock,
    startedAtMs,
    baseUrl,
    limits: { maxItemBytes: config.maxItemBytes, waitMs },
    treeReads: { count: 0 },
    fileMemory,
    htmlMemory,
    responseMemory,
    reserveBytes: memory.reserve,
  };
  const answer = await query.answer(read);
  const { bytes, fileName, links, cacheForMs = Infinity } = answer;
  const contentType = fileName === undefined
    ? answer.contentType ?? JSON_TYPE
    : rawContentType(contentTypeOf(fileName));
  const link = links === undefined ? null : linkHeader(links);
  const { name, branch } = snapshot;
  const body = await readyBody({
    bytes,
    contentType,
    headers: {
      ...tagHeaders({ ...name, branch }),
      ...(link !== null && { link }),
      ...(fileName !== undefined && {
        "content-disposition": contentDisposition(fileName),
      }),
      ...((fileName !== undefined || contentType !== JSON_TYPE) && INERT),
    },
  });
  const { content } = body.identity;
  charge(content.length / BYTES_PER_PROCESSOR_MS);
  const isLarge = typeof content !== "string";
  const permit = isLarge ? memory.take() : null;
  if (isLarge && permit !== null) {
    permit.resize(content.length);
    // The requests that share the body hold it before the next turn.
    const { onEnd } = largeBodies.hold(content, client, permit);
    void clock.sleep(0).then(onEnd);
  }
  return { body, cacheForMs };
}
