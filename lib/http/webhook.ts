// Receives deliveries of GitHub's webhook. A delivery is parsed only after its
// signature was verified. Only the names of the repository and the branch are
// read from it. Each repository is reported at most once a second. Unsigned
// deliveries cost their sender misses. Unsigned bodies over 64 KiB share a
// memory limit with signed ones. One client gets at most a quarter of that
// memory, or as much as a single body needs.

import { createHmac, type Hmac, timingSafeEqual } from "node:crypto";
import type { Delivery } from "../content/delivery.ts";
import { deliveryTask } from "../content/tasks.ts";
import type { Clock } from "../work/clock.ts";
import { RecentMap } from "../work/recent_map.ts";
import { CollectionsError, invalidParameters, problem } from "../errors.ts";
import {
  BYTES_PER_PROCESSOR_MS,
  repositoryKey,
  type RequestContext,
} from "../source/source.ts";
import type { Compute, RunOptions } from "../thread/compute.ts";
import {
  type Body,
  type BodyMemory,
  bodyMemory,
  readBody,
} from "../work/read_body.ts";
import type { Bytes } from "./responses.ts";

/** GitHub's limit for payloads is 25 MB. */
const MAX_BYTES = 25 << 20;
/** Bodies up to this size reserve no memory. Few deliveries are larger. */
const FREE_BYTES = 64 << 10;
const WAIT_FOR_MEMORY_MS = 5_000;
/** Memory for the bodies that are read at once, in bytes. */
const BODIES = {
  firstBytes: 2 << 20,
  first: 12 << 20,
  rest: MAX_BYTES - (2 << 20),
  maxShare: 1 / 4,
};
/**
 * A body must arrive at 1 MB a second or more. It may pause for 2 s, however
 * fast it was before.
 */
const PACE = { graceMs: 2_000, minBytesPerMs: 1_000 };
/** Each repository is reported at most this often. */
const REPORT_EVERY_MS = 1_000;
const EVENTS: ReadonlySet<string> = new Set([
  "push",
  "create",
  "delete",
  "repository",
  "public",
]);

/** Delivery ids to remember. GitHub's ids have 36 characters. */
const MAX_DELIVERIES = 1_000;
const MAX_ID_CHARS = 64;

type Change = Omit<Delivery, "former">;

/** Receives deliveries and reports changed repositories. */
export class Webhook {
  private readonly memory: BodyMemory;
  private readonly deliveries = new RecentMap<true>(MAX_DELIVERIES);
  /**
   * Repositories that were reported within the last second. `due` is the last
   * change that was delivered since.
   */
  private readonly reported = new Map<string, { due: Change | null }>();

  constructor(
    private readonly options: {
      /** One or more values of GITHUB_WEBHOOK_SECRET. Any of them may sign. */
      secrets: readonly string[];
      clock: Clock;
      compute: Compute;
      /**
       * Called at most once a second for each repository that deliveries report
       * as changed. The branch is null if it is not known.
       */
      onChange: (name: Change) => void;
    },
  ) {
    const { clock } = options;
    this.memory = bodyMemory({
      ...BODIES,
      clock,
      maxWaitMs: WAIT_FOR_MEMORY_MS,
    });
  }

  /**
   * Responds to one delivery.
   * @throws {CollectionsError} signature-invalid, body-too-large or
   * invalid-parameters.
   * @throws what {@linkcode readBody} throws if the body is over 64 KiB.
   */
  async receive(request: Request, context: RequestContext): Promise<Response> {
    const { headers } = request;
    const header = headers.get("x-hub-signature-256") ?? "";
    const signature = /^sha256=([0-9a-f]{64})$/i.exec(header)?.[1];
    if (signature === undefined) {
      throw refused(problem("signature-invalid", {}), context);
    }
    const hmacs = this.options.secrets
      .map((secret) => createHmac("sha256", secret));
    const { bytes, release } = await this.read(request, hmacs, context);
    try {
      // In constant time.
      const isSigned = hmacs.some((hmac) =>
        timingSafeEqual(hmac.digest(), Uint8Array.fromHex(signature))
      );
      if (!isSigned) {
        throw refused(problem("signature-invalid", {}), context);
      }
      const delivery = await parseDelivery(
        { headers, body: bytes },
        this.options.compute,
        context,
      );
      if (delivery === null) return new Response(null, { status: 204 });
      // Redeliveries have the same id.
      const id = headers.get("x-github-delivery")?.slice(0, MAX_ID_CHARS) ??
        crypto.randomUUID();
      const isNew = !this.deliveries.has(id);
      this.deliveries.set(id, true);
      const { former, ...name } = delivery;
      if (isNew) this.report(name);
      if (isNew && former) this.report({ ...former, branch: null });
      return new Response(null, { status: 202 });
    } finally {
      release();
    }
  }

  private report(name: Change) {
    const key = repositoryKey(name);
    const last = this.reported.get(key);
    if (last !== undefined) {
      last.due = name;
      return;
    }
    const report: { due: Change | null } = { due: null };
    this.reported.set(key, report);
    this.options.onChange(name);
    this.options.clock.setTimer(REPORT_EVERY_MS, () => {
      this.reported.delete(key);
      if (report.due !== null) this.report(report.due);
    });
  }

  /** Reads a body. `hmacs` are updated with its bytes. */
  private async read(
    request: Request,
    hmacs: readonly Hmac[],
    context: RequestContext,
  ): Promise<Body> {
    const { clock } = this.options;
    const late = new AbortController();
    const { signal } = late;
    let dueAtMs = 0;
    let cancelTimer = () => {};
    const watch = () => {
      cancelTimer();
      cancelTimer = clock.setTimer(
        dueAtMs - clock.monotonicMs(),
        () => late.abort(),
      );
    };
    const start = () => {
      dueAtMs = clock.monotonicMs() + PACE.graceMs;
      watch();
    };
    const counting = new TransformStream<Bytes, Bytes>({
      start,
      transform(piece, controller) {
        dueAtMs = Math.min(
          dueAtMs + piece.length / PACE.minBytesPerMs,
          clock.monotonicMs() + PACE.graceMs,
        );
        watch();
        for (const hmac of hmacs) hmac.update(piece);
        context.charge(piece.length / BYTES_PER_PROCESSOR_MS);
        controller.enqueue(piece);
      },
    });
    try {
      const body = request.body?.pipeThrough(counting, { signal }) ?? null;
      return await readBody({ body, headers: request.headers }, {
        memory: this.memory,
        client: context.client,
        maxBytes: MAX_BYTES,
        freeBytes: FREE_BYTES,
        signal,
        onWait: (isWaiting) => isWaiting ? cancelTimer() : start(),
      });
    } catch (error) {
      if (error instanceof RangeError) {
        throw refused(
          problem("body-too-large", { maxBytes: MAX_BYTES }),
          context,
        );
      }
      if (error instanceof CollectionsError) throw error;
      // A body that is late or ends early has no valid signature.
      throw refused(problem("signature-invalid", {}), context);
    } finally {
      cancelTimer();
    }
  }
}

/**
 * Charges the sender a miss. The response is the same if the sender is over its
 * limit.
 */
function refused(
  error: CollectionsError,
  context: RequestContext,
): CollectionsError {
  try {
    context.recordMiss();
  } catch {
    // The sender is over its limit for other requests.
  }
  return error;
}

/**
 * Returns the repository that a signed delivery reports as changed. The body is
 * JSON or has JSON in the URL-encoded field `payload`. A long one is parsed on
 * the content thread. Returns null for events that change nothing here such as
 * `ping`. Their payload is not parsed.
 * @throws {CollectionsError} invalid-parameters.
 * @throws what {@linkcode Compute.run} throws.
 */
async function parseDelivery(
  { headers, body }: { headers: Headers; body: Bytes },
  compute: Compute,
  options: RunOptions,
): Promise<Delivery | null> {
  const event = headers.get("x-github-event");
  if (!event) throw malformed("X-GitHub-Event", "is required");
  if (!EVENTS.has(event)) return null;
  const type = headers.get("content-type")?.split(/[;\s]/, 1)[0]?.toLowerCase();
  const isForm = type === "application/x-www-form-urlencoded";
  const input = { body, isForm };
  // The first try of a delivery does not wait for memory as long work does.
  const about = { ...options, linearIn: body.length, isLong: false };
  const delivery = isForm || type === "application/json"
    ? await compute.run(deliveryTask, input, about)
    : "Content-Type";
  if (typeof delivery === "object") return delivery;
  throw malformed(delivery, MALFORMED[delivery]);
}

const MALFORMED = {
  "Content-Type": "must be application/json, or a form with the field payload",
  payload: "must be the JSON of a GitHub event, with repository.full_name",
};

function malformed(parameter: string, message: string): CollectionsError {
  return invalidParameters([{ parameter, message }]);
}
