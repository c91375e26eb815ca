// Servers that the service is compared with, as a process: `bare` sends what
// was there before the first request; `skeleton` adds the least that any cache
// must do, one look-up by the request's URL, two request headers and three
// fresh response headers; `hono` is Hono with its `cors()` and `etag()`. The
// arguments are the kind of server, and JSON of the answers, each with the port
// that it is sent from.

import { Hono } from "hono";
import { cors } from "hono/cors";
import { etag } from "hono/etag";

/**
 * An answer of the service, to be sent from a port; `body` is base64, null
 * where there is none, as with 304.
 */
export interface PreparedAnswer {
  readonly name: string;
  readonly port: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

type Peer = (body: BodyInit | null, init: PreparedAnswer) => Deno.ServeHandler;

const bare: Peer = (body, init) => () => new Response(body, init);

const skeleton: Peer = (body, { status, headers }) => {
  const byUrl = new Map<string, BodyInit | null>();
  let requests = 0;
  return (request) => {
    if (!byUrl.has(request.url)) byUrl.set(request.url, body);
    request.headers.get("accept-encoding");
    request.headers.get("if-none-match");
    const own = {
      "age": "1",
      "cache-status": "collections; hit; ttl=59",
      "x-request-id": `skeleton-${(++requests).toString(36)}`,
    };
    return new Response(byUrl.get(request.url)!, {
      status,
      headers: { ...headers, ...own },
    });
  };
};

/** The headers that `cors()` and `etag()` make are left to them. */
const hono: Peer = (body, init) => {
  const kept = [
    "content-type",
    "content-encoding",
    "cache-control",
    "vary",
    "link",
  ];
  const own = Object.entries(init.headers).filter(([name]) =>
    kept.includes(name)
  );
  const headers = Object.fromEntries(own);
  const app = new Hono();
  app.use(cors(), etag());
  app.get("/api/*", () => new Response(body, { headers }));
  return (request) => app.fetch(request);
};

/** One-byte text is cheaper to send as a string than as bytes. */
function bodyOf(body: string | null): BodyInit | null {
  const bytes = body === null ? null : Uint8Array.fromBase64(body);
  return bytes?.every((byte) => byte < 0x80)
    ? new TextDecoder().decode(bytes)
    : bytes;
}

if (import.meta.main) {
  const peers: Record<string, Peer> = { bare, skeleton, hono };
  const [peer, answers] = Deno.args;
  for (const prepared of JSON.parse(answers!) as PreparedAnswer[]) {
    const options = {
      hostname: "127.0.0.1",
      port: prepared.port,
      onListen() {},
    };
    Deno.serve(options, peers[peer!]!(bodyOf(prepared.body), prepared));
  }
}
