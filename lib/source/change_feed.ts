// Tells the processes that share a store which repositories changed. Every
// publication has a key of its own, so processes that publish at once do not
// hinder each other. A process that cannot read the store in time finds changes
// by its own checks within 60 s.

import { z } from "zod";
import { KV_PREFIX, type KvTier } from "../cache/kv_tier.ts";
import type { Clock } from "../work/clock.ts";

/** That many names of 200 bytes fit into one value of the store. */
const MAX_NAMES = 200;
const POLL_MS = 1_000;
/** The other processes have read a publication by then. */
const KEPT_MS = 60_000;
const AGAIN_MS = { write: 1_000, watch: 30_000 };

const namesSchema = z.array(z.string());

/** Publishes and receives changed names. No method rejects. */
export class ChangeFeed {
  /** Begins the id of each publication. */
  private readonly process = crypto.randomUUID();
  private published = 0;
  private readonly key: Deno.KvKey;
  /** Changes with every publication. */
  private readonly lastKey: Deno.KvKey;
  /** Names that are not in the store yet. */
  private readonly pending = new Set<string>();
  /** Those of them that were reported as delayed. */
  private readonly delayed = new Set<string>();
  private isWriting = false;
  /**
   * The ids that were in the store before. Null until the store is first read.
   * Names in the store then are not new.
   */
  private received: ReadonlySet<string> | null = null;
  private cancelTimer = () => {};
  private reader:
    | ReadableStreamDefaultReader<[Deno.KvEntryMaybe<unknown>]>
    | undefined;
  private readonly closing = new AbortController();

  constructor(
    private readonly options: {
      tier: KvTier;
      clock: Clock;
      /**
       * The scope of the tier. Only processes with the same scope share
       * changes.
       */
      scope: string;
      /**
       * `watch` sees what other processes write to a remote store. It does not
       * see what they write to a file.
       */
      isRemote: boolean;
      /** Called once for each name that another process published. */
      onChange: (name: string) => void;
      /**
       * Called for each published name that the store does not take at once.
       */
      onDelay: (name: string) => void;
    },
  ) {
    this.key = [KV_PREFIX, "changes", options.scope];
    this.lastKey = [KV_PREFIX, "last-change", options.scope];
  }

  /**
   * Starts receiving. Resolves when the earlier names are known or cannot be
   * read.
   */
  async start(): Promise<void> {
    await this.receive();
    if (this.options.isRemote) void this.watch();
    else this.startIn(POLL_MS);
  }

  /** Publishes that a repository changed. Tries until the feed is closed. */
  publish(name: string): void {
    this.pending.add(name);
    this.delayed.delete(name);
    if (!this.isWriting) void this.write();
  }

  async close(): Promise<void> {
    this.closing.abort();
    this.cancelTimer();
    await this.reader?.cancel().catch(() => {});
  }

  private startIn(ms: number) {
    if (this.closing.signal.aborted) return;
    this.cancelTimer = this.options.clock.setTimer(
      ms,
      () => void this.start(),
    );
  }

  /** Deno's client reconnects by itself. The watch ends if it cannot. */
  private async watch() {
    try {
      const stream = await this.options.tier.attempt((kv) =>
        kv.watch<[unknown]>([this.lastKey])
      );
      this.reader = stream?.getReader();
      while ((await this.reader?.read())?.done === false) await this.receive();
    } catch {
      // Checks find changes until the next attempt.
    }
    this.startIn(AGAIN_MS.watch);
  }

  private async receive() {
    const entries = await this.options.tier.attempt((kv) =>
      Array.fromAsync(kv.list({ prefix: this.key }))
    );
    if (entries === null) return;
    const stored = new Map(
      entries.map(({ key, value }) => [String(key.at(-1)), value]),
    );
    const before = this.received;
    this.received = new Set(stored.keys());
    if (before === null) return;
    const added = [...stored].filter(([id]) =>
      !before.has(id) && !id.startsWith(this.process)
    ).flatMap(([, names]) => namesSchema.safeParse(names).data ?? []);
    for (const name of new Set(added)) this.options.onChange(name);
  }

  /** Names that are published during a write share the next one. */
  private async write() {
    const { clock, onDelay, tier } = this.options;
    const { signal } = this.closing;
    this.isWriting = true;
    while (this.pending.size > 0 && !signal.aborted) {
      const names = [...this.pending].slice(0, MAX_NAMES);
      const id = `${this.process} ${++this.published}`;
      const result = await tier.attempt((kv) =>
        kv.atomic().set([...this.key, id], names, { expireIn: KEPT_MS })
          .set(this.lastKey, id).commit()
      );
      if (result === null) {
        new Set(names).difference(this.delayed).forEach(onDelay);
        for (const name of names) this.delayed.add(name);
        await clock.sleep(AGAIN_MS.write, signal).catch(() => {});
      } else names.forEach((name) => this.pending.delete(name));
    }
    this.isWriting = false;
  }
}
