// Listens again after the system closed the listener: running out of file descriptors ends a Deno server with an error,
// which must not end the service.

import type { Clock } from "../clock.ts";
import { describeError, type Log } from "../log.ts";

const RETRY_AFTER_MS = 500;

/** Runs one server after the other, until it is stopped. */
export class Listening {
  private server: Deno.HttpServer;
  private readonly stopping = new AbortController();

  /** Listens now. @throws what `listen` throws then; later failures are logged and retried. */
  constructor(
    private readonly listen: () => Deno.HttpServer,
    private readonly options: { readonly clock: Clock; readonly log: Log },
  ) {
    this.server = listen();
    this.listenAgain();
  }

  /** Accepts nothing more, and resolves when all requests have been answered. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.server.shutdown();
  }

  private async listenAgain(): Promise<void> {
    const { signal } = this.stopping;
    for (let ended = this.server.finished; !signal.aborted;) {
      try {
        await ended;
        if (signal.aborted) return;
        this.server = this.listen();
        ended = this.server.finished;
      } catch (error) {
        if (signal.aborted) return;
        this.options.log.error("cannot listen, trying again", describeError(error));
        await this.options.clock.sleep(RETRY_AFTER_MS, signal).catch(() => {});
        ended = Promise.resolve();
      }
    }
  }
}
