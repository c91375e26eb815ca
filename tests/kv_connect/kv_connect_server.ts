// A remote Deno KV for tests: KV Connect, version 3 (denoland/denokv,
// proto/kv-connect.md), on top of a local Deno KV in memory. It counts
// requests, and is slow, fails, moves or goes away on request. It sets,
// deletes, checks and watches; nothing expires.
//
//   await using server = await KvConnectServer.start();
//   using kv = await server.open();
//   server.fault = (operation) => operation === "watch" ? 503 : null;

import { createHash } from "node:crypto";
import {
  decode,
  encode,
  type KvEntry,
  type KvValue,
  type Messages,
  MutationType,
  Status,
} from "./datapath.ts";

/**
 * Kinds of requests; the answer to `metadata` has the address for the others.
 */
export type KvOperation =
  | "metadata"
  | "snapshot_read"
  | "atomic_write"
  | "watch";

/** The access token of every store of the tests. */
export const TOKEN = "a-token-of-the-tests";

/** Bytes, or how Deno's client serialized another value. */
type StoredValue = Uint8Array | KvValue;
/** VE_BYTES of the protocol. */
const BYTES = 3;

/** One database on one port; `await using` stops it. */
export class KvConnectServer implements AsyncDisposable {
  /** KV_PATH, which is a URL here. */
  path = "";
  /**
   * What DENO_KV_ACCESS_TOKEN must be. Once this changes, clients that have the
   * old one are refused.
   */
  token = TOKEN;
  /**
   * Base of the data path. Once this changes, the old one answers 503; clients
   * get the new one with their next metadata.
   */
  endpoint = "/v3";
  /**
   * Life of the metadata. Deno's client requests it again 10 s before its end,
   * and once a minute at least.
   */
  metadataTtlMs = 3_600_000;
  /** Real time that passes before each answer. */
  latencyMs = 0;
  /**
   * The status of a failed answer, given instead of the operation, or null;
   * `count` counts requests from 1. Deno's client repeats without end what
   * fails with 500 or more.
   */
  fault: (operation: KvOperation, count: number) => number | null = () => null;
  /** Requests so far, refused ones included; clear it to count anew. */
  readonly counts = new Map<KvOperation, number>();
  readonly #databaseId: string;
  #total = 0;
  #server: Deno.HttpServer<Deno.NetAddr> | null = null;
  #closing = new AbortController();

  private constructor(
    /**
     * Values as they travel, each key as bytes that are one part of a key:
     * these sort as the bytes do.
     */
    readonly local: Deno.Kv,
    file: string,
  ) {
    // The same for a server that is started again on its file.
    const bytes = createHash("sha256").update(file).digest("hex");
    this.#databaseId = file === ":memory:"
      ? crypto.randomUUID()
      : bytes.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
  }

  /**
   * Starts a server on a free port, or on this one, with an empty database or
   * the one in a file.
   */
  static async start(
    { port = 0, file = ":memory:" } = {},
  ): Promise<KvConnectServer> {
    const server = new KvConnectServer(await Deno.openKv(file), file);
    if (port > 0) server.path = `http://127.0.0.1:${port}`;
    server.up();
    return server;
  }

  /** Opens the database as the service does. */
  async open(): Promise<Deno.Kv> {
    Deno.env.set("DENO_KV_ACCESS_TOKEN", TOKEN);
    return await Deno.openKv(this.path);
  }

  /** Listens (again, after {@linkcode down}, on the same port). */
  up(): void {
    const port = this.path === "" ? 0 : Number(new URL(this.path).port);
    this.#closing = new AbortController();
    const onError = (error: unknown) =>
      new Response(String(error), { status: 400 });
    this.#server ??= Deno.serve(
      { hostname: "127.0.0.1", port, onListen() {}, onError },
      (request) => this.#answer(request),
    );
    this.path = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /**
   * Ends every watch and stops listening: connections are refused. What is
   * stored stays.
   */
  async down(): Promise<void> {
    this.#closing.abort();
    await this.#server?.shutdown();
    this.#server = null;
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const body = await request.bytes();
    const operation = pathname === "/"
      ? "metadata"
      : pathname.split("/").at(-1) as KvOperation;
    this.counts.set(operation, (this.counts.get(operation) ?? 0) + 1);
    const status = this.fault(operation, ++this.#total);
    if (this.latencyMs > 0) {
      await new Promise((resolve) => setTimeout(resolve, this.latencyMs));
    }
    const refuse = (status: number, text: string) =>
      new Response(text, { status });
    if (status !== null) return refuse(status, "A fault set by the test.");
    const { headers } = request;
    const isMetadata = operation === "metadata";
    const expected = isMetadata
      ? `Bearer ${this.token}`
      : `Bearer data-${this.token}`;
    if (headers.get("authorization") !== expected) {
      return refuse(401, "The token is refused.");
    }
    if (isMetadata) {
      return this.#metadata(JSON.parse(new TextDecoder().decode(body)));
    }
    if (!pathname.startsWith(`${this.endpoint}/`)) {
      return refuse(503, "Not here.");
    }
    const isKnown = headers.get("x-denokv-version") === "3" &&
      headers.get("x-denokv-database-id") === this.#databaseId;
    if (!isKnown) return refuse(400, "Another version or database.");
    if (operation === "watch") return this.#watch(decode("Watch", body));
    return new Response(
      operation === "snapshot_read"
        ? encode(
          "SnapshotReadOutput",
          await this.#read(decode("SnapshotRead", body)),
        )
        : encode(
          "AtomicWriteOutput",
          await this.#write(decode("AtomicWrite", body)),
        ),
      { headers: { "content-type": "application/x-protobuf" } },
    );
  }

  #metadata({ supportedVersions }: { supportedVersions: number[] }): Response {
    if (!supportedVersions.includes(3)) {
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

  async #read(
    { ranges }: Messages["SnapshotRead"],
  ): Promise<Messages["SnapshotReadOutput"]> {
    const outputs = ranges.map(async ({ start, end, limit }) => {
      const options = { limit, batchSize: Math.min(limit, 1000) };
      const list = this.local.list<StoredValue>(
        { start: [start], end: [end] },
        options,
      );
      return { values: await Array.fromAsync(list, toEntry) };
    });
    const status = Status.SUCCESS;
    return {
      ranges: await Promise.all(outputs),
      readIsStronglyConsistent: true,
      status,
    };
  }

  async #write(
    write: Messages["AtomicWrite"],
  ): Promise<Messages["AtomicWriteOutput"]> {
    const atomic = this.local.atomic();
    for (const { key, versionstamp } of write.checks) {
      atomic.check({ key: [key], versionstamp: versionstamp.toHex() || null });
    }
    for (const { key, value, mutationType } of write.mutations) {
      if (mutationType === MutationType.DELETE) atomic.delete([key]);
      else if (mutationType === MutationType.SET) {
        const { data, encoding } = value!;
        // A copy: KV stores the whole buffer behind a view. Bytes as they are,
        // since they may be as long as KV allows.
        atomic.set(
          [key],
          encoding === BYTES ? data.slice() : { data: data.slice(), encoding },
        );
      } else throw new TypeError(`Cannot mutate by type ${mutationType}`);
    }
    const result = await atomic.commit();
    return result.ok
      ? {
        status: Status.SUCCESS,
        versionstamp: Uint8Array.fromHex(result.versionstamp),
      }
      : { status: Status.CHECK_FAILURE, versionstamp: new Uint8Array(0) };
  }

  #watch({ keys }: Messages["Watch"]): Response {
    const changes = this.local.watch<StoredValue[]>(
      keys.map(({ key }) => [key]),
    );
    const frames = new TransformStream<
      Deno.KvEntryMaybe<StoredValue>[],
      Uint8Array
    >({
      transform(entries, controller) {
        const message = encode("WatchOutput", {
          status: Status.SUCCESS,
          keys: entries.map((entry) => ({
            changed: true,
            ...entry.versionstamp === null
              ? {}
              : { entryIfChanged: toEntry(entry) },
          })),
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

function toEntry(
  { key, value, versionstamp }: Deno.KvEntry<StoredValue>,
): KvEntry {
  const { data, encoding } = value instanceof Uint8Array
    ? { data: value, encoding: BYTES }
    : value;
  const stamp = Uint8Array.fromHex(versionstamp);
  return {
    key: key[0] as Uint8Array,
    value: data,
    encoding,
    versionstamp: stamp,
  };
}
