// Counts the requests of each client from their arrival until their response is
// sent. A response that its client does not read occupies memory. HTTP/2
// carries 200 requests on one connection.

import { CollectionsError } from "../errors.ts";
import type { RequestContext } from "../source/source.ts";
import { type Clock, turnToStart } from "../work/clock.ts";
import { RecentMap } from "../work/recent_map.ts";

const MAX_PER_CLIENT = 1_000;
/**
 * Only a streamed response reports when it was sent but streaming doubles the
 * cost of a cached response. Therefore one in 64 cached responses is streamed
 * at random and counts for all 64. Once a client has 512 requests under way,
 * each of them is counted.
 */
const SAMPLED = { oneIn: 64, upTo: 512 };

/**
 * A client starts 32 requests that are not cached at once and then 1,000 a
 * second. Its other requests wait. Otherwise a flood of cheap requests keeps
 * Deno 2.9.6 from noticing which responses were sent and from freeing them.
 */
const STARTS = { intervalMs: 1, aheadMs: 31 };
const MAX_STARTING = 10_000;

/** Counts requests under way by client. */
export class UnderWay {
  private readonly counts = new Map<string, number>();
  /** When the next request of a client starts, by the monotonic clock. */
  private readonly starts = new RecentMap<number>(MAX_STARTING);
  /**
   * The requests of a client that wait until the one before them has started.
   */
  private readonly queues = new Map<string, (() => void)[]>();
  /** Number of clients whose requests are no longer sampled. */
  private crowded = 0;

  constructor(private readonly random: () => number = Math.random) {}

  /** Returns an estimate of the requests that a client has under way. */
  countOf(client: string): number {
    return this.counts.get(client) ?? 0;
  }

  /**
   * Resolves when a counted request may start. Those past {@linkcode STARTS}
   * wait for about a second at most, however many of the client's requests have
   * left while they waited. A client's requests that wait start one by one,
   * between the work of others: Deno 2.9.6 would start all that have arrived in
   * one go, and one with an address of 60 kB takes about 1 ms.
   * @throws the signal's reason if it is aborted.
   */
  async turnOf(
    context: Pick<RequestContext, "client" | "signal">,
    clock: Pick<Clock, "monotonicMs" | "sleep">,
  ): Promise<void> {
    const { client } = context;
    const nowMs = clock.monotonicMs();
    const latestMs = nowMs + MAX_PER_CLIENT * STARTS.intervalMs;
    const dueMs = Math.max(nowMs, this.starts.get(client) ?? 0);
    const startsAtMs = Math.min(dueMs, latestMs);
    this.starts.set(client, startsAtMs + STARTS.intervalMs);
    const waitMs = startsAtMs - nowMs - STARTS.aheadMs;
    if (waitMs > 0) await clock.sleep(waitMs, context.signal);
    if (this.countOf(client) <= 1) return;
    const others = this.queues.get(client);
    if (others === undefined) this.queues.set(client, []);
    else await new Promise<void>((resolve) => others.push(resolve));
    await turnToStart();
    const queue = this.queues.get(client)!;
    if (queue.length === 0) this.queues.delete(client);
    else queue.shift()!();
    context.signal?.throwIfAborted();
  }

  /**
   * Counts a request until its response was sent. `weight` is the number of
   * requests that it stands for.
   * @throws {CollectionsError} too-many-requests if its client has too many
   * requests under way.
   */
  add(
    client: string,
    info: Pick<Deno.ServeHandlerInfo, "completed">,
    weight = 1,
  ): void {
    if (this.countOf(client) >= MAX_PER_CLIENT) {
      throw new CollectionsError(
        "too-many-requests",
        "Your address has too many requests under way. Read their " +
          "responses to the end, or close their connections.",
        { retryAfterSeconds: 1 },
      );
    }
    this.change(client, weight);
    const end = () => this.change(client, -weight);
    // Access `completed` only here. After the first access it rejects when a
    // client disconnects.
    info.completed.then(end, end);
  }

  /**
   * Returns the number of requests that a cached response stands for. The
   * response must be streamed and counted unless this is 0.
   */
  weightOfHit(clientOf: () => string): number {
    const weight = this.random() * SAMPLED.oneIn < 1 ? SAMPLED.oneIn : 0;
    if (this.crowded === 0) return weight;
    return this.countOf(clientOf()) < SAMPLED.upTo ? weight : 1;
  }

  private change(client: string, by: number) {
    const before = this.countOf(client);
    const count = before + by;
    this.crowded += Number(count >= SAMPLED.upTo) -
      Number(before >= SAMPLED.upTo);
    if (count > 0) this.counts.set(client, count);
    else this.counts.delete(client);
  }
}
