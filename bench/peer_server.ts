// Servers that the service is compared with, as a process: `bare` sends what was there before the first request;
// `skeleton` adds the least that any cache must do, one look-up by the request's URL, two request headers and three fresh
// response headers; `hono` is Hono with its `cors()` and `etag()`. The answers come as JSON on standard input, and each
// list of answers gets a port of its own; the first line of output is the ports by name.

import { Hono } from "hono";
import { cors } from "hono/cors";
import { etag } from "hono/etag";

/** An answer of the service, to be sent by others. */
export interface PreparedAnswer {
  /** Path and query of the request. */
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** As base64; null where there is none, as with 304. */
  readonly body: string | null;
}

interface ReadyAnswer {
  readonly path: string;
  readonly init: Pick<PreparedAnswer, "status" | "headers">;
  readonly body: BodyInit | null;
}

/** One-byte text is cheaper to send as a string than as bytes. */
function ready({ path, body, ...init }: PreparedAnswer): ReadyAnswer {
  const bytes = body === null ? null : Uint8Array.fromBase64(body);
  const isAscii = bytes !== null && bytes.every((byte) => byte < 0x80);
  return { path, init, body: isAscii ? new TextDecoder().decode(bytes) : bytes };
}

/** The answers in turn. */
function inTurn(answers: readonly ReadyAnswer[]): () => ReadyAnswer {
  let at = 0;
  return () => answers[at = (at + 1) % answers.length]!;
}

function bare(answers: readonly ReadyAnswer[]): Deno.ServeHandler {
  const [only] = answers;
  if (answers.length === 1) return () => new Response(only!.body, only!.init);
  const next = inTurn(answers);
  return () => {
    const { body, init } = next();
    return new Response(body, init);
  };
}

function skeleton(answers: readonly ReadyAnswer[]): Deno.ServeHandler {
  const byPath = new Map(answers.map((answer) => [answer.path, answer]));
  const byUrl = new Map<string, ReadyAnswer>();
  let requests = 0;
  return (request) => {
    const { url, headers } = request;
    let answer = byUrl.get(url);
    if (answer === undefined) {
      answer = byPath.get(url.slice(url.indexOf("/", "http://".length)));
      if (answer === undefined) return new Response(null, { status: 404 });
      byUrl.set(url, answer);
    }
    headers.get("accept-encoding");
    headers.get("if-none-match");
    const own = {
      "age": "1",
      "cache-status": "collections; hit; ttl=59",
      "x-request-id": `skeleton-${(++requests).toString(36)}`,
    };
    const { status } = answer.init;
    return new Response(answer.body, { status, headers: { ...answer.init.headers, ...own } });
  };
}

/** The headers that `cors()` and `etag()` make are left to them. */
const HONO_HEADERS = ["content-type", "content-encoding", "cache-control", "vary", "link"];

function hono(answers: readonly ReadyAnswer[]): Deno.ServeHandler {
  const app = new Hono();
  app.use(cors(), etag());
  const next = inTurn(answers.map((answer) => {
    const headers = Object.entries(answer.init.headers)
      .filter(([name]) => HONO_HEADERS.includes(name));
    return { ...answer, init: { status: 200, headers: Object.fromEntries(headers) } };
  }));
  app.get("/api/*", () => {
    const { body, init } = next();
    return new Response(body, init);
  });
  return (request) => app.fetch(request);
}

if (import.meta.main) {
  const kinds: Record<string, typeof bare> = { bare, skeleton, hono };
  const lists: Record<string, PreparedAnswer[]> = await new Response(Deno.stdin.readable).json();
  const ports = Object.entries(lists).map(([name, answers]) => {
    const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
    const server = Deno.serve(options, kinds[Deno.args[0]!]!(answers.map(ready)));
    return [name, server.addr.port];
  });
  console.log(JSON.stringify(Object.fromEntries(ports)));
}
