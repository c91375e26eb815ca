// The API host: REST and GraphQL, both with their quotas.

import { type Exchange, exchange } from "./github_exchange.ts";
import { answerGraphql } from "./github_graphql.ts";
import { quotaHeaders, withQuota } from "./github_quota.ts";
import { answerRest } from "./github_rest.ts";
import { parseRestRequest } from "./github_rest_request.ts";
import type { GithubState } from "./github_state.ts";

/** Answers one request to the API host. */
export async function answerApi(state: GithubState, request: Request): Promise<Response> {
  const caller = state.accounts.caller(request.headers.get("authorization"));
  const isGraphql = new URL(request.url).pathname === "/graphql" && request.method === "POST";
  const resource = isGraphql ? "graphql" : "core";
  const asked = { request, caller, resource } as const;
  const parsed = isGraphql ? null : parseRestRequest(request);
  const handled: Exchange = {
    kind: isGraphql
      ? "graphql"
      : parsed === null || typeof parsed === "string"
      ? "unexpected"
      : parsed.kind,
    refusal: typeof parsed === "string" ? parsed : null,
    headers: () => quotaHeaders(state, caller ?? null, resource),
    answer: () =>
      withQuota(state, asked, async (caller) => {
        return parsed === null || typeof parsed === "string"
          ? await answerGraphql(state, await request.text(), caller)
          : await answerRest(state, parsed, caller);
      }),
  };
  return await exchange(state, request, handled);
}
