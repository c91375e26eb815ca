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
  readonly init: { readonly status: number; readonly headers: Readonly<Record<string, string>> };
  readonly body: BodyInit | null;
}

/** One-byte text is cheaper to send as a string than as bytes. */
function ready({ path, status, headers, body }: PreparedAnswer): ReadyAnswer {
  const bytes = body === null ? null : Uint8Array.fromBase64(body);
  const isAscii = bytes !== null && bytes.every((byte) => byte < 0x80);
  return {
    path,
    init: { status, headers },
    body: isAscii ? new TextDecoder().decode(bytes) : bytes,
  };
}

function bare(answers: readonly ReadyAnswer[]): Deno.ServeHandler {
  const [only] = answers;
  if (answers.length === 1) return () => new Response(only!.body, only!.init);
  let at = 0;
  return () => {
    at = (at + 1) % answers.length;
    const { body, init } = answers[at]!;
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
    return new Response(answer.body, {
      status: answer.init.status,
      headers: { ...answer.init.headers, ...own },
    });
  };
}

/** The headers that `cors()` and `etag()` make are left to them. */
const HONO_HEADERS = ["content-type", "content-encoding", "cache-control", "vary", "link"];

function hono(answers: readonly ReadyAnswer[]): Deno.ServeHandler {
  const app = new Hono();
  app.use(cors(), etag());
  const own = answers.map(({ body, init }) => ({
    body,
    headers: Object.fromEntries(
      Object.entries(init.headers).filter(([name]) => HONO_HEADERS.includes(name)),
    ),
  }));
  let at = 0;
  app.get("/api/*", () => {
    at = (at + 1) % own.length;
    return new Response(own[at]!.body, { headers: own[at]!.headers });
  });
  return (request) => app.fetch(request);
}

if (import.meta.main) {
  const kinds: Record<string, typeof bare> = { bare, skeleton, hono };
  const handlerOf = kinds[Deno.args[0]!]!;
  const lists: Record<string, PreparedAnswer[]> = await new Response(Deno.stdin.readable).json();
  const ports = Object.entries(lists).map(([name, answers]) => {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      handlerOf(answers.map(ready)),
    );
    return [name, server.addr.port];
  });
  console.log(JSON.stringify(Object.fromEntries(ports)));
}
