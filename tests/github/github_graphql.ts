// POST /graphql, for reading many blobs at once: `repository` with aliased `object` fields, and
// `rateLimit`. Its limits can be set low, since GitHub's are not published.
// https://docs.github.com/graphql

import type { Caller } from "./github_accounts.ts";
import { blobFields, GraphqlBudgetSpent } from "./github_graphql_blob.ts";
import { resolveCommit } from "./github_refs.ts";
import type { HostedRepository } from "./github_registry.ts";
import { errorReply, jsonReply, type Reply, UnexpectedRequest } from "./github_reply.ts";
import type { GithubState } from "./github_state.ts";
import { parseQuery, type QueryField } from "./graphql_query.ts";

interface GraphqlError {
  type: string;
  path: string[];
  message: string;
}

interface Run {
  state: GithubState;
  caller: Caller;
  errors: GraphqlError[];
  objects: number;
  bytes: number;
}

/** Answers a query. @throws {UnexpectedRequest} on one that asks for more than the double knows. */
export async function answerGraphql(
  state: GithubState,
  body: string,
  caller: Caller,
): Promise<Reply> {
  const { query, variables = {} } = parseBody(body);
  const run: Run = { state, caller, errors: [], objects: 0, bytes: 0 };
  const data: Record<string, unknown> = {};
  try {
    for (const field of parseQuery(query, variables)) {
      if (field.name === "rateLimit") data[field.alias] = rateLimit(run, field);
      else if (field.name === "repository") data[field.alias] = await repository(run, field);
      else throw new UnexpectedRequest(`GraphQL field "${field.name}"`);
    }
  } catch (error) {
    if (error instanceof GraphqlBudgetSpent) return errorReply(502, "Something went wrong.");
    throw error;
  }
  return jsonReply(run.errors.length > 0 ? { data, errors: run.errors } : { data });
}

function parseBody(body: string): { query: string; variables?: Record<string, unknown> } {
  try {
    const parsed = JSON.parse(body);
    if (typeof parsed?.query === "string") return parsed;
  } catch { /* said below */ }
  throw new UnexpectedRequest("a GraphQL body that is not JSON with a query");
}

function rateLimit({ state, caller }: Run, field: QueryField) {
  const { limit, remaining, resetAtMs } = state.accounts.quota(caller, "graphql");
  return pick(field, {
    limit,
    cost: 1,
    remaining: remaining - 1,
    used: limit - remaining + 1,
    resetAt: new Date(resetAtMs).toISOString(),
  });
}

async function repository(run: Run, field: QueryField): Promise<Record<string, unknown> | null> {
  const { owner, name } = field.args;
  const found = run.state.registry.follow(`${owner}/${name}`);
  if (!found || found.blocked || !run.state.accounts.sees(run.caller, found)) {
    const message = `Could not resolve to a Repository with the name '${owner}/${name}'.`;
    run.errors.push({ type: "NOT_FOUND", path: [field.alias], message });
    return null;
  }
  const values: Record<string, unknown> = {
    databaseId: found.id,
    name: found.name,
    nameWithOwner: `${found.owner}/${found.name}`,
    isPrivate: found.visibility !== "public",
    visibility: found.visibility.toUpperCase(),
  };
  const result: Record<string, unknown> = {};
  for (const inner of field.fields) {
    if (inner.name !== "object") Object.assign(result, pick({ fields: [inner] }, values));
    else if (run.objects++ < run.state.graphqlMaxObjects) {
      result[inner.alias] = await object(run, found, inner);
    } else {
      const message = "Resource limits for this query exceeded.";
      const path = [field.alias, inner.alias];
      run.errors.push({ type: "RESOURCE_LIMITS_EXCEEDED", path, message });
      result[inner.alias] = null;
    }
  }
  return result;
}

async function object(run: Run, { git, defaultBranch }: HostedRepository, field: QueryField) {
  const { oid, expression } = field.args;
  if (!git) return null;
  let revision = String(oid);
  if (expression !== undefined) {
    const [, ref = "", rest = ""] = /^([^:]*)(:.*)?$/s.exec(String(expression)) ?? [];
    revision = `${await resolveCommit(git.objects, { ref, defaultBranch })}${rest}`;
  } else if (!/^[0-9a-f]{40}$/.test(revision)) {
    throw new UnexpectedRequest(`GraphQL object id "${revision}"`);
  }
  const info = await git.objects.info(revision);
  if (!info) return null;
  const type = info.type[0]!.toUpperCase() + info.type.slice(1);
  const values: Record<string, unknown> = { __typename: type, oid: info.oid };
  if (type === "Blob") {
    run.bytes += info.size;
    if (run.bytes > run.state.graphqlMaxBytes) throw new GraphqlBudgetSpent();
    const blob = await git.objects.blob(info.oid);
    Object.assign(values, blobFields(blob!.bytes, run.state.graphqlStripsBom));
  }
  return pick({ fields: field.fields.filter(({ on }) => on === null || on === type) }, values);
}

function pick({ fields }: { fields: QueryField[] }, values: Record<string, unknown>) {
  return Object.fromEntries(fields.map(({ alias, name }) => {
    if (!(name in values)) throw new UnexpectedRequest(`GraphQL field "${name}"`);
    return [alias, values[name]];
  }));
}
