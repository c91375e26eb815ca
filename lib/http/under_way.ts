// How many requests of a client are under way, from their arrival until their response is sent: a response that its client
// does not take occupies memory. HTTP/2 carries 200 of them on one connection.

import { CollectionsError } from "../errors.ts";

const MAX_PER_CLIENT = 1_000;
/**
 * Only a streamed response tells when it was sent, and streaming doubles the cost of a cached one. So one cached response
 * in 64, by chance, is streamed and stands for all of them, until its client has so many under way that each is counted.
 */
const SAMPLED = { oneIn: 64, upTo: 512 };

/** Counts requests by client. */
export class UnderWay {
  private readonly counts = new Map<string, number>();
  /** Clients that have more under way than are sampled. */
  private crowded = 0;

  constructor(private readonly random: () => number = Math.random) {}

  /** How many of a client are under way, by estimate. */
  countOf(client: string): number {
    return this.counts.get(client) ?? 0;
  }

  /**
   * Counts a request until its response was sent; `weight` is how many it stands for.
   * @throws {CollectionsError} too-many-requests where too many of its client are under way.
   */
  add(client: string, info: Pick<Deno.ServeHandlerInfo, "completed">, weight = 1): void {
    if (this.countOf(client) >= MAX_PER_CLIENT) {
      throw new CollectionsError(
        "too-many-requests",
        "Your address has too many requests under way. Read their responses to the end, or close their connections.",
        { retryAfterSeconds: 1 },
      );
    }
    this.change(client, weight);
    const end = () => this.change(client, -weight);
    // Read only here: once it was read, a client that disconnects makes it reject.
    info.completed.then(end, end);
  }

  /** How many a cached response stands for; it is to be streamed and counted where that is not 0. */
  weightOfHit(clientOf: () => string): number {
    const weight = this.random() * SAMPLED.oneIn < 1 ? SAMPLED.oneIn : 0;
    if (this.crowded === 0) return weight;
    return this.countOf(clientOf()) < SAMPLED.upTo ? weight : 1;
  }

  private change(client: string, by: number): void {
    const before = this.countOf(client);
    const count = before + by;
    this.crowded += Number(count >= SAMPLED.upTo) - Number(before >= SAMPLED.upTo);
    if (count > 0) this.counts.set(client, count);
    else this.counts.delete(client);
  }
}
