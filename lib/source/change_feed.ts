// Tells the processes that share a store which repositories changed. One key
// holds a ring of the last names. A process that cannot read the store in time
// finds changes by its own checks within 60 s.

import { z } from "zod";
import { KV_PREFIX, type KvTier } from "../cache/kv_tier.ts";
import type { Clock } from "../work/clock.ts";

/** 100 names of 200 bytes fit into one value of the store. */
const MAX_NAMES = 100;
const POLL_MS = 1_000;
const WATCH_AGAIN_MS = 30_000;
/** Concurrent writers succeed one at a time. */
const MAX_TRIES = 50;
const MAX_PAUSE_MS = 20;

/**
 * Names with unique ids. An id begins with that of the process that published
 * the name.
 */
const ringSchema = z.array(z.tuple([z.string(), z.string()]));

/** Publishes and receives changed names. No method rejects. */
export class ChangeFeed {
  private readonly id = crypto.randomUUID();
  private readonly key: Deno.KvKey;
  /** Names that are not in the ring yet. */
  private readonly pending = new Set<string>();
  private isWriting = false;
  private published = 0;
  /**
   * The ids that were in the ring before. Null until the ring is first
   * received. Names in that ring are not new.
   */
  private received: ReadonlySet<string> | null = null;
  private cancelTimer = () => {};
  private reader:
    | ReadableStreamDefaultReader<[Deno.KvEntryMaybe<unknown>]>
    | undefined;
  private isClosed = false;

  constructor(
    private readonly options: {
      readonly tier: KvTier;
      readonly clock: Clock;
      /**
       * The scope of the tier. Only processes with the same scope share
       * changes.
       */
      readonly scope: string;
      /**
       * `watch` sees what other processes write to a remote store. It does not
       * see what they write to a file.
       */
      readonly isRemote: boolean;
      /** Called once for each name that another process published. */
      readonly onChange: (name: string) => void;
    },
  ) {
    this.key = [KV_PREFIX, "changes", options.scope];
  }

  /**
   * Starts receiving. Resolves when the earlier names are known or cannot be
   * read.
   */
  async start(): Promise<void> {
    const entry = await this.options.tier.attempt((kv) => kv.get(this.key));
    if (entry !== null) this.receive(entry.value);
    if (this.options.isRemote) void this.watch();
    else this.startIn(POLL_MS);
  }

  /** Publishes that a repository changed. */
  publish(name: string): void {
    // Checks find the changes that do not fit into the ring.
    if (this.pending.size < MAX_NAMES) this.pending.add(name);
    if (!this.isWriting) void this.write();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.cancelTimer();
    await this.reader?.cancel().catch(() => {});
  }

  private startIn(ms: number): void {
    if (!this.isClosed) {
      this.cancelTimer = this.options.clock.setTimer(
        ms,
        () => void this.start(),
      );
    }
  }

  /** Deno's client reconnects by itself. The watch ends if it cannot. */
  private async watch(): Promise<void> {
    try {
      const stream = await this.options.tier.attempt((kv) =>
        kv.watch<[unknown]>([this.key])
      );
      this.reader = stream?.getReader();
      for (
        let next = await this.reader?.read();
        next?.value;
        next = await this.reader?.read()
      ) {
        this.receive(next.value[0].value);
      }
    } catch {
      // Checks find changes until the next attempt.
    }
    this.startIn(WATCH_AGAIN_MS);
  }

  private receive(value: unknown): void {
    const ring = parse(value);
    const { received } = this;
    this.received = new Set(ring.map(([, id]) => id));
    if (received === null) return;
    const added = ring.filter(([, id]) =>
      !received.has(id) && !id.startsWith(this.id)
    );
    for (const name of new Set(added.map(([name]) => name))) {
      this.options.onChange(name);
    }
  }

  /** Names that are published during a write share the next one. */
  private async write(): Promise<void> {
    const { clock, tier } = this.options;
    this.isWriting = true;
    for (let tries = 0; this.pending.size > 0 && tries < MAX_TRIES; tries++) {
      const names = [...this.pending];
      const isWritten = await tier.attempt((kv) => this.append(kv, names));
      if (isWritten === null) break;
      if (isWritten) names.forEach((name) => this.pending.delete(name));
      else await clock.sleep(Math.random() * MAX_PAUSE_MS);
    }
    this.pending.clear();
    this.isWriting = false;
  }

  /** Returns false if another process wrote at the same time. */
  private async append(
    kv: Deno.Kv,
    added: readonly string[],
  ): Promise<boolean> {
    const entry = await kv.get(this.key);
    const ring = parse(entry.value);
    for (const name of added) {
      ring.push([name, `${this.id} ${++this.published}`]);
    }
    return (await kv.atomic().check(entry).set(this.key, ring.slice(-MAX_NAMES))
      .commit()).ok;
  }
}

const parse = (value: unknown) => ringSchema.safeParse(value).data ?? [];
