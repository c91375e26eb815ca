// One request to the API host, from headers to response: who asks, is it expected, is there quota
// left, what is the answer, has it changed since, and what goes into the log.

import type { Caller, QuotaResource } from "./github_accounts.ts";
import type { LoggedRequest } from "./github_log.ts";
import { errorReply, etagOf, matchesEtag, type Reply, unexpectedReply } from "./github_reply.ts";
import { answerRest, parseRestRequest } from "./github_rest.ts";
import type { GithubState } from "./github_state.ts";

/** Answers one request to the API host. */
export async function answerApi(state: GithubState, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const caller = state.accounts.caller(request.headers.get("authorization"));
  const parsed = parseRestRequest({
    method: request.method,
    path: pathname,
    query: search,
    accept: request.headers.get("accept") ?? "",
  });
  const logged: LoggedRequest = {
    kind: typeof parsed === "string" ? "unexpected" : parsed.kind,
    method: request.method,
    path: pathname + search,
    status: 0,
    token: caller?.index ?? null,
    conditional: request.headers.has("if-none-match"),
    bytes: 0,
    atMs: state.now(),
    userAgent: request.headers.get("user-agent"),
  };
  const end = state.log.begin(logged);
  try {
    const refusal = typeof parsed === "string" ? parsed : unexpectedHeader(state, request);
    const reply = refusal !== null
      ? unexpected(state, logged, refusal)
      : await withQuota(state, { request, caller, resource: "core" }, async (caller) => {
        return await answerRest(state, parsed as Exclude<typeof parsed, string>, caller);
      });
    if (reply.status === 301) logged.kind = "redirect";
    logged.status = reply.status;
    logged.bytes = reply.body.length;
    return new Response(reply.status === 304 ? null : reply.body, reply);
  } finally {
    end();
  }
}

function unexpectedHeader(state: GithubState, request: Request): string | null {
  if (!request.headers.get("user-agent")) return "no User-Agent";
  const host = request.headers.get("host");
  return host === new URL(state.apiUrl).host ? null : `host "${host}"`;
}

function unexpected(state: GithubState, logged: LoggedRequest, reason: string): Reply {
  logged.kind = "unexpected";
  state.log.unexpected.push(`${logged.method} ${logged.path}: ${reason}`);
  return unexpectedReply(reason);
}

/** Charges the caller's quota for an answer and gives it with quota headers and an ETag. */
async function withQuota(
  state: GithubState,
  asked: { request: Request; caller: Caller | undefined; resource: QuotaResource },
  answer: (caller: Caller) => Promise<Reply>,
): Promise<Reply> {
  const { accounts } = state;
  const payer = asked.caller ?? null;
  const before = accounts.quota(payer, asked.resource);
  if (before.remaining <= 0) {
    const whose = payer ? `user ID ${payer.index + 1}` : "127.0.0.1";
    const reply = errorReply(state.quotaStatus, `API rate limit exceeded for ${whose}.`);
    return { ...reply, headers: { ...reply.headers, ...quotaHeaders(state, payer, asked) } };
  }
  let reply = asked.caller === undefined
    ? errorReply(401, "Bad credentials")
    : await answer(asked.caller);
  if (reply.status === 200) {
    const etag = await etagOf(reply, String(payer?.index));
    reply.headers = {
      ...reply.headers,
      etag,
      "cache-control": `${payer ? "private" : "public"}, max-age=60, s-maxage=60`,
      vary: "Accept, Authorization, Cookie, X-GitHub-OTP",
    };
    const known = asked.request.headers.get("if-none-match");
    if (known !== null && matchesEtag(known, etag)) {
      const { "content-type": _, ...headers } = reply.headers;
      reply = { status: 304, headers, body: new Uint8Array() };
    }
  }
  if (reply.status !== 304 || !payer) accounts.charge(payer, asked.resource);
  return { ...reply, headers: { ...reply.headers, ...quotaHeaders(state, payer, asked) } };
}

function quotaHeaders(
  state: GithubState,
  payer: Caller,
  { resource }: { resource: QuotaResource },
): Record<string, string> {
  const { limit, remaining, resetAtMs } = state.accounts.quota(payer, resource);
  return {
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-remaining": String(Math.max(0, remaining)),
    "x-ratelimit-used": String(limit - Math.max(0, remaining)),
    "x-ratelimit-reset": String(Math.ceil(resetAtMs / 1000)),
    "x-ratelimit-resource": resource,
  };
}
