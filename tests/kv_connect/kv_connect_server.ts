// A remote Deno KV for tests: KV Connect, version 3 (denoland/denokv, proto/kv-connect.md), on top of a local Deno KV.
// It counts requests, and is slow, fails, moves or goes away on request. Queues and sums of V8 numbers are missing, and
// keys may be a little shorter than elsewhere: a zero byte counts twice.
//
//   await using server = await KvConnectServer.start();
//   using kv = await server.open();
//   server.fault = oneIn(10);

import { Deserializer, Serializer } from "node:v8";
import {
  decode,
  encode,
  Encoding,
  type KvEntry,
  type KvValue,
  type Messages,
  MutationType,
  ReadStatus,
  WriteStatus,
} from "./datapath.ts";

/** Kinds of requests; the answer to `metadata` has the address for the others. */
export type KvOperation = "metadata" | "snapshot_read" | "atomic_write" | "watch";

/** The status of a failed answer, given instead of the operation, or null; `count` counts requests from 1. */
export type KvFault = (operation: KvOperation, count: number) => number | null;

/** Fails every n-th request, metadata aside. Deno's client repeats without end what fails with 500 or more. */
export function oneIn(n: number, status = 503): KvFault {
  return (operation, count) => operation !== "metadata" && count % n === 0 ? status : null;
}

/** One database on one port; `await using` stops it. */
export class KvConnectServer implements AsyncDisposable {
  /** What `Deno.openKv()` takes. */
  url = "";
  /** What DENO_KV_ACCESS_TOKEN must be. Once this changes, clients that have the old one are refused. */
  token = "a-token-of-the-tests";
  /** Base of the data path. Once this changes, the old one answers 503; clients get the new one with their next metadata. */
  endpoint = "/v3";
  /** Life of the metadata. Deno's client requests it again 10 s before its end, and once a minute at least. */
  metadataTtlMs = 3_600_000;
  /** Real time that passes before each answer. */
  latencyMs = 0;
  fault: KvFault = () => null;
  /** Requests so far, refused ones included; clear it to count anew. */
  readonly counts = new Map<KvOperation, number>();
  #databaseId = crypto.randomUUID();
  #total = 0;
  #server: Deno.HttpServer<Deno.NetAddr> | null = null;
  #closing = new AbortController();

  private constructor(
    /** The entries of clients, each of their keys encoded as one part of a key. */
    readonly local: Deno.Kv,
  ) {}

  /** Starts a server on a free port; `path` is that of the local database, in memory if left out. */
  static async start(path = ":memory:"): Promise<KvConnectServer> {
    const server = new KvConnectServer(await Deno.openKv(path));
    server.up();
    return server;
  }

  /** Opens the database as the service does. */
  async open(): Promise<Deno.Kv> {
    Deno.env.set("DENO_KV_ACCESS_TOKEN", this.token);
    return await Deno.openKv(this.url);
  }

  /** Listens (again, after {@linkcode down}, on the same port). */
  up(): void {
    const port = this.url === "" ? 0 : Number(new URL(this.url).port);
    this.#closing = new AbortController();
    this.#server ??= Deno.serve({
      hostname: "127.0.0.1",
      port,
      onListen: () => {},
      onError: (error) => new Response(String(error), { status: 400 }),
    }, (request) => this.#answer(request));
    this.url = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Ends every watch and stops listening: connections are refused. What is stored stays. */
  async down(): Promise<void> {
    this.#closing.abort();
    await this.#server?.shutdown();
    this.#server = null;
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const body = await request.bytes();
    const operation = pathname === "/" ? "metadata" : pathname.split("/").at(-1) as KvOperation;
    this.counts.set(operation, (this.counts.get(operation) ?? 0) + 1);
    const status = this.fault(operation, ++this.#total);
    if (this.latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, this.latencyMs));
    if (status !== null) return new Response("A fault set by the test.", { status });
    const { headers } = request;
    const isMetadata = operation === "metadata";
    const token = isMetadata ? this.token : `data-${this.token}`;
    if (headers.get("authorization") !== `Bearer ${token}`) {
      return new Response("The token is refused.", { status: 401 });
    }
    if (isMetadata) return this.#metadata(JSON.parse(new TextDecoder().decode(body)));
    if (!pathname.startsWith(`${this.endpoint}/`)) {
      return new Response("Not here.", { status: 503 });
    }
    if (
      headers.get("x-denokv-version") !== "3" ||
      headers.get("x-denokv-database-id") !== this.#databaseId
    ) return new Response("Another version or database.", { status: 400 });
    if (operation === "watch") return this.#watch(decode("Watch", body));
    return new Response(
      operation === "snapshot_read"
        ? encode("SnapshotReadOutput", await this.#read(decode("SnapshotRead", body)))
        : encode("AtomicWriteOutput", await this.#write(decode("AtomicWrite", body))),
      { headers: { "content-type": "application/x-protobuf" } },
    );
  }

  #metadata(request: { supportedVersions: number[] }): Response {
    if (!request.supportedVersions.includes(3)) {
      return new Response("Version 3 only.", { status: 400 });
    }
    return Response.json({
      version: 3,
      databaseId: this.#databaseId,
      endpoints: [{ url: this.endpoint, consistency: "strong" }],
      token: `data-${this.token}`,
      expiresAt: new Date(Date.now() + this.metadataTtlMs).toISOString(),
    });
  }

  // An encoded key is one part of a local key: parts that are bytes sort as the bytes do.
  async #read({ ranges }: Messages["SnapshotRead"]): Promise<Messages["SnapshotReadOutput"]> {
    const outputs = ranges.map(async ({ start, end, limit, reverse }) => {
      const options = { limit, reverse, batchSize: Math.min(limit, 1000) };
      const list = this.local.list({ start: [start], end: [end] }, options);
      return { values: await Array.fromAsync(list, toEntry) };
    });
    return {
      ranges: await Promise.all(outputs),
      readIsStronglyConsistent: true,
      status: ReadStatus.SUCCESS,
    };
  }

  async #write(write: Messages["AtomicWrite"]): Promise<Messages["AtomicWriteOutput"]> {
    if (write.enqueues.length > 0) throw new TypeError("Queues are not there");
    const atomic = this.local.atomic();
    for (const { key, versionstamp } of write.checks) {
      atomic.check({ key: [key], versionstamp: versionstamp.toHex() || null });
    }
    for (const { key, value, mutationType, expireAtMs } of write.mutations) {
      const type = Object.entries(MutationType).find(([, number]) => number === mutationType)?.[0];
      if (type === "DELETE") {
        atomic.delete([key]);
        continue;
      }
      const local = toLocal(value!);
      if (type === "SET") {
        const expireIn = Math.max(1, Number(expireAtMs) - Date.now());
        atomic.set([key], local, expireAtMs === 0n ? {} : { expireIn });
      } else if (type !== undefined && local instanceof Deno.KvU64) {
        atomic.mutate({
          key: [key],
          type: type.toLowerCase() as "sum" | "min" | "max",
          value: local,
        });
      } else throw new TypeError(`Cannot mutate by type ${mutationType}`);
    }
    const result = await atomic.commit();
    return result.ok
      ? { status: WriteStatus.SUCCESS, versionstamp: Uint8Array.fromHex(result.versionstamp) }
      : { status: WriteStatus.CHECK_FAILURE, versionstamp: new Uint8Array(0) };
  }

  #watch({ keys }: Messages["Watch"]): Response {
    const changes = this.local.watch<unknown[]>(keys.map(({ key }) => [key]));
    const frames = new TransformStream<Deno.KvEntryMaybe<unknown>[], Uint8Array>({
      transform: (entries, controller) => {
        const message = encode("WatchOutput", {
          status: ReadStatus.SUCCESS,
          keys: entries.map((entry) =>
            entry.versionstamp === null
              ? { changed: true }
              : { changed: true, entryIfChanged: toEntry(entry) }
          ),
        });
        const frame = new Uint8Array(4 + message.length);
        new DataView(frame.buffer).setUint32(0, message.length, true);
        frame.set(message, 4);
        controller.enqueue(frame);
      },
    });
    const { signal } = this.#closing;
    changes.pipeTo(frames.writable, { signal }).catch(() => {});
    return new Response(frames.readable, {
      headers: { "content-type": "application/octet-stream" },
    });
  }

  /** Stops the server and closes its database. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
    this.local.close();
  }
}

function toLocal({ data, encoding }: KvValue): unknown {
  if (encoding === Encoding.BYTES) return data.slice();
  if (encoding === Encoding.V8) {
    // The plain classes: Node's own functions write array views in a way that only Node reads.
    const deserializer = new Deserializer(data);
    deserializer.readHeader();
    return deserializer.readValue();
  }
  return new Deno.KvU64(new DataView(data.buffer, data.byteOffset).getBigUint64(0, true));
}

function toEntry({ key, value, versionstamp }: Deno.KvEntry<unknown>): KvEntry {
  const base = { key: key[0] as Uint8Array, versionstamp: Uint8Array.fromHex(versionstamp) };
  if (value instanceof Uint8Array) return { ...base, value, encoding: Encoding.BYTES };
  if (!(value instanceof Deno.KvU64)) {
    const serializer = new Serializer();
    serializer.writeHeader();
    serializer.writeValue(value);
    return { ...base, value: serializer.releaseBuffer(), encoding: Encoding.V8 };
  }
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value.value, true);
  return { ...base, value: bytes, encoding: Encoding.LE64 };
}
