// Deliveries of GitHub's webhook. A delivery is parsed only after its signature was found valid, and then only for the
// repository's name. Unsigned deliveries cost their sender misses, and never delay a signed one.

import { LRUCache } from "lru-cache";
import type { Clock } from "../clock.ts";
import { bodyTooLarge, CollectionsError, invalidParameters, signatureInvalid } from "../errors.ts";
import { type Body, BodyReader } from "../read_body.ts";
import type { RepositoryName, RequestContext } from "../source/source.ts";
import { parseDelivery, parseSignature, WebhookSecrets } from "./github_signature.ts";

/** What a {@linkcode Webhook} needs. */
export interface WebhookOptions {
  /** One or more, of GITHUB_WEBHOOK_SECRET. */
  readonly secrets: readonly string[];
  readonly clock: Clock;
  /** Called for each new delivery that says a repository has changed. */
  readonly onChange: (name: RepositoryName) => void;
}

/** GitHub's payloads have at most 25 MB. */
const MAX_BYTES = 25 << 20;
/** GitHub waits 10 s for an answer. */
const READ_WITHIN_MS = 10_000;
const WAIT_FOR_MEMORY_MS = 5_000;
/** A delivery that is sent again while it is among the last ones causes nothing. */
const MAX_RECEIVED = 1_000;

/** Receives deliveries and reports the repositories that changed. */
export class Webhook {
  private readonly secrets: WebhookSecrets;
  private readonly bodies: BodyReader;
  /** Signatures of the last deliveries. */
  private readonly received = new LRUCache<string, true>({ max: MAX_RECEIVED });

  constructor(private readonly options: WebhookOptions) {
    this.secrets = new WebhookSecrets(options.secrets);
    this.bodies = new BodyReader({ maxWaitMs: WAIT_FOR_MEMORY_MS, clock: options.clock });
  }

  /**
   * Answers one delivery.
   * @throws {CollectionsError} signature-invalid, body-too-large, invalid-parameters; service-busy for one over 1 MiB
   * while many like it are read.
   */
  async receive(request: Request, context: RequestContext): Promise<Response> {
    const { headers } = request;
    const signature = parseSignature(headers.get("x-hub-signature-256"));
    if (signature === null) throw refused(signatureInvalid(), context);
    const { bytes, release } = await this.read(request, context);
    try {
      if (!await this.secrets.verify(signature, bytes)) throw refused(signatureInvalid(), context);
      const event = headers.get("x-github-event");
      const contentType = headers.get("content-type");
      const delivery = parseDelivery({ event, contentType, body: bytes });
      if (delivery.kind === "malformed") throw invalidParameters([delivery.error]);
      if (delivery.kind === "ignored") return new Response(null, { status: 204 });
      const id = signature.toHex();
      if (!this.received.has(id)) this.options.onChange(delivery);
      this.received.set(id, true);
      return new Response(null, { status: 202 });
    } finally {
      release();
    }
  }

  private async read(request: Request, context: RequestContext): Promise<Body> {
    const late = new AbortController();
    const cancelTimer = this.options.clock.setTimer(READ_WITHIN_MS, () => late.abort());
    const { signal } = late;
    try {
      const body = request.body?.pipeThrough(new TransformStream(), { signal }) ?? null;
      const { headers } = request;
      return await this.bodies.read({ body, headers }, {
        ...{ maxBytes: MAX_BYTES, signal },
        onWait() {},
      });
    } catch (error) {
      if (error instanceof RangeError) throw refused(bodyTooLarge(MAX_BYTES), context);
      if (error instanceof CollectionsError) throw error;
      // A body that is late or ends early has no valid signature.
      throw refused(signatureInvalid(), context);
    } finally {
      cancelTimer();
    }
  }
}

/** Charges the sender. A delivery is refused in the same way whether or not the sender has misses left. */
function refused(error: CollectionsError, context: RequestContext): CollectionsError {
  try {
    context.recordMiss();
  } catch {
    // The sender has no misses left for other requests.
  }
  return error;
}
