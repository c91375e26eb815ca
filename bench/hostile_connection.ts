// Sends requests as their bytes are, over one connection as long as the server keeps it. What may be refused, or is no
// GET, gets a connection of its own, since nobody knows where its answer ends.

import { rawRequest } from "../tests/raw_http.ts";
import type { HostileRequest } from "./hostile_requests.ts";
import { pause } from "./processes.ts";
import { type RawAnswer, RawClient } from "./raw_client.ts";

const GIVE_UP_MS = 10_000;

/** A connection that is opened anew when the server has closed it. */
export class HostileConnection implements Disposable {
  /** Requests that were sent a second time, since the connection brought no answer that could be read. */
  again = 0;
  private client: RawClient | null = null;

  constructor(private readonly origin: string, private readonly port: number) {}

  /** The answer, or null where none comes. */
  async ask(request: HostileRequest): Promise<RawAnswer | null> {
    const { method, target, headers, mayRefuse } = request;
    if (method === "GET" && !mayRefuse) {
      const fields = headers.map(([name, value]) => [name.toLowerCase(), value]);
      try {
        this.client ??= await RawClient.connect(this.origin);
        return await this.client.get(target, Object.fromEntries(fields));
      } catch {
        this.again++;
        this[Symbol.dispose]();
      }
    }
    const host = headers.some(([name]) => name === "Host") ? [] : ["Host: 127.0.0.1"];
    const lines = headers.map(([name, value]) => `${name}: ${value}`);
    const answer = await Promise.race([
      rawRequest(this.port, `${method} ${target} HTTP/1.1`, ...host, ...lines).catch(() => null),
      pause(GIVE_UP_MS).then(() => null),
    ]);
    return answer && answer.status > 0 ? { ...answer, headers: new Map(answer.headers) } : null;
  }

  /** Closes what is open. */
  [Symbol.dispose](): void {
    this.client?.[Symbol.dispose]();
    this.client = null;
  }
}
