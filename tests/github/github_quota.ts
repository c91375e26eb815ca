// Lets a request through while its caller has quota, charges it, and adds the validator and the
// quota headers. A 304 is free with a valid token only.

import type { Caller, QuotaResource } from "./github_accounts.ts";
import { errorReply, etagOf, jsonReply, matchesEtag, type Reply } from "./github_reply.ts";
import type { GithubState } from "./github_state.ts";

/** Who asks what; `caller` is undefined for a token that is not valid. */
export interface Asked {
  request: Request;
  caller: Caller | undefined;
  resource: QuotaResource;
}

/** The answer, if the caller has quota left; charged and with all headers. */
export async function withQuota(
  state: GithubState,
  asked: Asked,
  answer: (caller: Caller) => Promise<Reply>,
): Promise<Reply> {
  const { caller, resource } = asked;
  // A bad token is charged to the address, as a request without a token is.
  const payer = caller ?? null;
  const reply = caller === undefined
    ? errorReply(401, "Bad credentials")
    : resource === "graphql" && caller === null
    ? errorReply(401, "This endpoint requires you to be authenticated.")
    : state.accounts.quota(payer, resource).remaining <= 0
    ? spentReply(state, payer, resource)
    : await charged(state, asked, await answer(caller));
  return { ...reply, headers: { ...reply.headers, ...quotaHeaders(state, payer, resource) } };
}

async function charged(state: GithubState, asked: Asked, reply: Reply): Promise<Reply> {
  const payer = asked.caller ?? null;
  const known = asked.request.headers.get("if-none-match");
  if (reply.status === 200 && asked.resource === "core") {
    const etag = await etagOf(reply, String(payer?.index));
    const cacheControl = `${payer ? "private" : "public"}, max-age=60, s-maxage=60`;
    const vary = "Accept, Authorization, Cookie, X-GitHub-OTP";
    const headers = { etag, "cache-control": cacheControl, vary };
    const unchanged = known !== null && matchesEtag(known, etag);
    if (!unchanged || !payer) state.accounts.charge(payer, asked.resource);
    return unchanged
      ? { status: 304, headers, body: new Uint8Array() }
      : { ...reply, headers: { ...reply.headers, ...headers } };
  }
  state.accounts.charge(payer, asked.resource);
  return reply;
}

/** The answer when the quota is spent; GraphQL's can be a 200 with `errors`. */
function spentReply(state: GithubState, payer: Caller, resource: QuotaResource): Reply {
  const whose = payer ? `user ID ${payer.index + 1}` : "127.0.0.1";
  const message = `API rate limit exceeded for ${whose}.`;
  return resource === "graphql" && state.graphqlQuotaStatus === 200
    ? jsonReply({ errors: [{ type: "RATE_LIMITED", message }] })
    : errorReply(state.quotaStatus, message);
}

/** The `x-ratelimit-*` headers as they stand. */
export function quotaHeaders(
  state: GithubState,
  payer: Caller,
  resource: QuotaResource,
): Record<string, string> {
  const { limit, remaining, resetAtMs } = state.accounts.quota(payer, resource);
  const left = Math.max(0, remaining);
  return {
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-remaining": String(left),
    "x-ratelimit-used": String(limit - left),
    "x-ratelimit-reset": String(Math.ceil(resetAtMs / 1000)),
    "x-ratelimit-resource": resource,
  };
}
