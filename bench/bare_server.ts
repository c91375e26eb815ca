// The ceiling: `Deno.serve` with bytes and headers that were there before the first request. With `skeleton` as its
// argument, the least that any cache must do is added: one look-up by the request's URL and one fresh header.

import { type PreparedAnswer, readAnswers, serveLists } from "./prepared_answers.ts";

/** Sends what there is, one answer after the other, and looks at no request. */
function bare(answers: readonly PreparedAnswer[]): Deno.ServeHandler {
  const ready = answers.map(({ body, status, headers }) => ({ body, init: { status, headers } }));
  const [only] = ready;
  if (only !== undefined && ready.length === 1) return () => new Response(only.body, only.init);
  let at = 0;
  return () => {
    at = (at + 1) % ready.length;
    const { body, init } = ready[at]!;
    return new Response(body, init);
  };
}

/** Looks the request up and writes anew what no two answers share. */
function skeleton(answers: readonly PreparedAnswer[]): Deno.ServeHandler {
  const byPath = new Map(answers.map((answer) => [answer.path, answer]));
  const byUrl = new Map<string, PreparedAnswer>();
  let requests = 0;
  return (request) => {
    const { url } = request;
    let answer = byUrl.get(url);
    if (answer === undefined) {
      answer = byPath.get(url.slice(url.indexOf("/", "http://".length)));
      if (answer === undefined) return new Response(null, { status: 404 });
      byUrl.set(url, answer);
    }
    const { body, status, headers } = answer;
    return new Response(body, {
      status,
      headers: { ...headers, "x-request-id": `skeleton-${(++requests).toString(36)}` },
    });
  };
}

if (import.meta.main) {
  serveLists(await readAnswers(), Deno.args[0] === "skeleton" ? skeleton : bare);
}
