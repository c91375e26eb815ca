// The path of a hit alone, without a server: from the request to the response. The base of each group is what Deno
// itself needs for a response of the same form.

import { appConfig } from "../fresh.config.ts";
import { systemClock } from "../lib/clock.ts";
import { chooseCoding, matchingTag } from "../lib/http/conditional.ts";
import { createHandler } from "../lib/http/handler.ts";
import { hitResponse } from "../lib/http/hits.ts";
import { LineLog, type LogLevel } from "../lib/log.ts";
import { openServices } from "../lib/services.ts";
import { parseSettings } from "../lib/settings.ts";

const URL_OF_LIST =
  "http://localhost:8000/api/list-collection-items?owner=local&repo=blog&collection=posts";
const BROWSER_CODINGS = "gzip, deflate, br, zstd";
const routesUrl = new URL("../routes/", import.meta.url);

/** A service whose clock stands still, so that what it keeps stays fresh, and whose log goes nowhere. */
async function openAt(logLevel: LogLevel) {
  const nowMs = Date.now();
  const services = await openServices(
    parseSettings((name) => name === "LOCAL_REPOS_DIR" ? "./examples" : undefined),
    {
      clock: { ...systemClock, now: () => nowMs },
      log: new LineLog(() => {}, { level: logLevel }),
      kv: await Deno.openKv(":memory:"),
    },
  );
  const handler = await createHandler(services, { routesUrl, appConfig });
  const remoteAddr: Deno.NetAddr = { transport: "tcp", hostname: "127.0.0.1", port: 50_000 };
  const response = await handler(
    new Request(URL_OF_LIST),
    { remoteAddr, completed: Promise.resolve() },
  );
  return { services, response, body: await response.bytes() };
}

const quiet = await openAt("warn");
const logging = await openAt("info");
const { body, response: { headers: given } } = quiet;
const headers = Object.fromEntries(given);
const etag = given.get("etag")!;

const plain = new Request(URL_OF_LIST);
const gzip = new Request(URL_OF_LIST, { headers: { "accept-encoding": BROWSER_CODINGS } });
const conditional = new Request(URL_OF_LIST, { headers: { "if-none-match": etag } });
while (!hitResponse(gzip, quiet.services)?.headers.has("content-encoding")) {
  await new Promise((resolve) => setTimeout(resolve, 10));
}

Deno.bench("new Response() of the bytes", { group: "hit", baseline: true }, () => {
  new Response(body, { headers });
});

Deno.bench("hitResponse()", { group: "hit" }, () => {
  hitResponse(plain, quiet.services);
});

Deno.bench("hitResponse(), gzip", { group: "hit" }, () => {
  hitResponse(gzip, quiet.services);
});

Deno.bench("hitResponse() with its log line", { group: "hit" }, () => {
  hitResponse(plain, logging.services);
});

Deno.bench("new Response() with status 304", { group: "304", baseline: true }, () => {
  new Response(null, { status: 304, headers });
});

Deno.bench("hitResponse(), 304", { group: "304" }, () => {
  hitResponse(conditional, quiet.services);
});

Deno.bench("chooseCoding() of a browser", { group: "negotiation" }, () => {
  chooseCoding(BROWSER_CODINGS);
});

let codings = 0;
Deno.bench("chooseCoding() of a value not seen before", { group: "negotiation" }, () => {
  chooseCoding(`gzip;q=0.${++codings}, identity;q=0.5`);
});

Deno.bench("matchingTag() of three tags", { group: "negotiation" }, () => {
  matchingTag(`"a", W/"b", ${etag}`, [etag, '"other"']);
});
