// The same bodies from Hono, by its middleware as its documentation shows it: `cors()` and `etag()` on every route. The
// headers that those two make are left to them.

import { Hono } from "hono";
import { cors } from "hono/cors";
import { etag } from "hono/etag";
import { type PreparedAnswer, readAnswers, serveLists } from "./prepared_answers.ts";

const KEPT = ["content-type", "content-encoding", "cache-control", "vary", "link"];

function hono(answers: readonly PreparedAnswer[]): Deno.ServeHandler {
  const app = new Hono();
  app.use(cors(), etag());
  const ready = answers.map(({ body, headers }) => ({
    body,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => KEPT.includes(name))),
  }));
  let at = 0;
  app.get("/api/*", (context) => {
    at = (at + 1) % ready.length;
    const { body, headers } = ready[at]!;
    return context.body(body ?? "", 200, headers);
  });
  return (request) => app.fetch(request);
}

if (import.meta.main) serveLists(await readAnswers(), hono);
