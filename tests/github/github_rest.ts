// The REST API as a whole: finds the repository as the caller may see it, and answers for what is
// missing, moved, blocked or empty. https://docs.github.com/rest

import type { Caller } from "./github_accounts.ts";
import type { HostedRepository } from "./github_registry.ts";
import { errorReply, jsonReply, notFoundReply, type Reply } from "./github_reply.ts";
import { blobReply, branchReply, commitReply, treeReply } from "./github_rest_objects.ts";
import type { RestRequest } from "./github_rest_request.ts";
import type { GithubState } from "./github_state.ts";

/** Answers a REST request. */
export async function answerRest(
  state: GithubState,
  request: RestRequest,
  caller: Caller,
): Promise<Reply> {
  const repository = typeof request.repository === "number"
    ? state.registry.findById(request.repository)
    : state.registry.find(request.repository);
  if (!repository) return redirectReply(state, request, caller);
  if (!state.accounts.sees(caller, repository)) return notFoundReply();
  if (repository.blocked) return blockedReply(repository.blocked);
  if (request.kind === "repo") return jsonReply(repositoryBody(state, repository));
  const { git } = repository;
  if (!git || await git.isEmpty()) {
    return request.kind === "branch"
      ? errorReply(404, "Branch not found")
      : errorReply(409, "Git Repository is empty.");
  }
  const served = { state, repository, objects: git.objects, request };
  if (request.kind === "commit") return await commitReply(served);
  if (request.kind === "branch") return await branchReply(served);
  if (request.kind === "blob") return await blobReply(served);
  return await treeReply(served);
}

function redirectReply(state: GithubState, request: RestRequest, caller: Caller): Reply {
  const found = typeof request.repository === "string"
    ? state.registry.redirect(request.repository)
    : null;
  if (!found || (found.target && !state.accounts.sees(caller, found.target))) {
    return notFoundReply();
  }
  const { target, form } = found;
  const rest = request.rest + request.query;
  const numeric = `${state.apiUrl}/repositories/${target?.id}${rest}`;
  const location = form === "none"
    ? null
    : form === "numeric"
    ? numeric
    : form === "named"
    ? `${state.apiUrl}/repos/${target?.owner}/${target?.name}${rest}`
    : form === "other-host"
    ? numeric.replace("127.0.0.1", "localhost")
    : form.replaceAll("{rest}", rest).replaceAll("{api}", state.apiUrl);
  return errorReply(301, "Moved Permanently", {
    fields: { url: location ?? "" },
    headers: location === null ? {} : { location },
  });
}

function blockedReply(blocked: NonNullable<HostedRepository["blocked"]>): Reply {
  const htmlUrl = "https://github.com/github/dmca/blob/master/2026/01/2026-01-01-example.md";
  const block = { reason: blocked.reason, created_at: "2026-01-01T00:00:00Z", html_url: htmlUrl };
  return errorReply(blocked.status, "Repository access blocked", { fields: { block } });
}

function repositoryBody(state: GithubState, repository: HostedRepository) {
  const { id, owner, name, visibility, defaultBranch } = repository;
  const full_name = `${owner}/${name}`;
  return {
    id,
    node_id: `R_${id}`,
    name,
    full_name,
    private: visibility !== "public",
    owner: { login: owner, id: 1, type: "Organization" },
    html_url: `https://github.com/${full_name}`,
    description: null,
    fork: false,
    url: `${state.apiUrl}/repos/${full_name}`,
    archived: false,
    disabled: false,
    visibility,
    default_branch: defaultBranch,
  };
}
