// The clients of benches: one raw connection, and many at once by Debian's wrk.

import { Buffer } from "node:buffer";
import { join } from "@std/path";
import { outputOf, pinned } from "./processes.ts";

/** The core of servers, and the core of wrk. */
export const SERVER_CORE = 0;
const LOAD_CORE = 1;

/** An answer; names of headers are in lower case, `ms` is the time from the request to its last byte. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly ms: number;
}

/**
 * One HTTP/1.1 connection that sends and gives bytes unchanged: no decompression, no redirect, no cache. Cheap enough to
 * run beside a load generator. One request at a time.
 */
export class RawClient implements Disposable {
  private readonly chunk = new Uint8Array(256 * 1024);
  private pending = Buffer.alloc(0);
  private isClosed = false;

  private constructor(private readonly connection: Deno.TcpConn, private readonly host: string) {}

  /** Connects to an `http:` origin. */
  static async connect(origin: string): Promise<RawClient> {
    const { hostname, port, host } = new URL(origin);
    const connection = await Deno.connect({ hostname, port: Number(port) });
    connection.setNoDelay();
    return new RawClient(connection, host);
  }

  /** Sends a GET and reads its answer. @throws {Error} where the connection ends early. */
  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<RawAnswer> {
    return this.send("GET", path, Object.entries(headers));
  }

  /** Sends a request whose target and header fields may be any text. @throws {Error} where the connection ends early. */
  async send(
    method: string,
    target: string,
    fields: readonly (readonly [name: string, value: string])[],
  ): Promise<RawAnswer> {
    const startedMs = performance.now();
    const hasHost = fields.some(([name]) => name.toLowerCase() === "host");
    const all = hasHost ? fields : [["host", this.host], ...fields];
    const lines = all.map(([name, value]) => `${name}: ${value}\r\n`);
    const bytes = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`);
    for (let at = 0; at < bytes.length;) at += await this.connection.write(bytes.subarray(at));

    let end = -1;
    while ((end = this.pending.indexOf("\r\n\r\n")) < 0) await this.readMore();
    const [first = "", ...rest] = this.take(end + 4).toString().trimEnd().split("\r\n");
    const status = Number(first.split(" ")[1]);
    const headers = new Map(rest.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }));
    const hasNoBody = method === "HEAD" || status === 304 || status === 204;
    const length = hasNoBody ? 0 : Number(headers.get("content-length") ?? NaN);
    if (Number.isNaN(length)) throw new Error(`Cannot read "${target}": no content-length`);
    while (this.pending.length < length) await this.readMore();
    const body = new Uint8Array(this.take(length));
    return { status, headers, body, ms: performance.now() - startedMs };
  }

  /** Closes the connection, also while an answer is being read, and more than once. */
  [Symbol.dispose](): void {
    if (!this.isClosed) this.connection.close();
    this.isClosed = true;
  }

  private take(length: number): Buffer {
    const taken = this.pending.subarray(0, length);
    this.pending = this.pending.subarray(taken.length);
    return taken;
  }

  private async readMore(): Promise<void> {
    const count = await this.connection.read(this.chunk);
    if (count === null) throw new Error(`Cannot read "${this.host}": the connection ended`);
    this.pending = Buffer.concat([this.pending, this.chunk.subarray(0, count)]);
  }
}

/** One GET over a connection of its own. @throws {Error} where its status is not 200. */
export async function getOnce(origin: string, path: string): Promise<RawAnswer> {
  using client = await RawClient.connect(origin);
  const answer = await client.get(path);
  if (answer.status === 200) return answer;
  throw new Error(`Cannot get "${path}": ${answer.status} ${textOf(answer)}`);
}

/** The body of an answer as text. */
export function textOf({ body }: RawAnswer): string {
  return new TextDecoder().decode(body);
}

/** The result of one run of wrk; `errors` are requests without an answer, or with a status of 400 or more. */
export type LoadResult = Readonly<
  Record<"requests" | "perSecond" | "p50Ms" | "p99Ms" | "maxMs" | "errors", number>
>;

/** wrk and its version. @throws {Error} where it is not installed. */
export async function describeWrk(): Promise<string> {
  const { stdout } = await new Deno.Command("wrk", { args: ["-v"] }).output();
  return new TextDecoder().decode(stdout).split(" ", 2).join(" ");
}

/** Puts a server under load. */
export async function load(
  { origin, path, headers = {}, seconds, connections }:
    & { readonly headers?: Readonly<Record<string, string>> }
    & Readonly<Record<"origin" | "path", string>>
    & Readonly<Record<"seconds" | "connections", number>>,
): Promise<LoadResult> {
  const [program, ...args] = pinned([
    ...["wrk", "--threads", "1", "--connections", `${connections}`] as const,
    ...["--duration", `${seconds}s`, "--timeout", "30s"],
    ...["--script", join(import.meta.dirname!, "load.lua")],
    ...Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]),
    origin + path,
  ], LOAD_CORE);
  const text = await outputOf(program, args);
  return JSON.parse(text.slice(text.lastIndexOf('{"requests"')));
}
