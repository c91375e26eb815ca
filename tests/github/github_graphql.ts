// POST /graphql, for reading many blobs at once: `repository` with aliased `object` fields, and `rateLimit`. Its limits
// can be set low, since GitHub's are not published. Of the language (https://spec.graphql.org/October2021/) it reads
// one `query` with variables, aliases, arguments and inline fragments. https://docs.github.com/graphql

import type { Account } from "./github_accounts.ts";
import type { GithubDouble } from "./github_double.ts";
import type { HostedRepository } from "./github_registry.ts";
import { errorReply, jsonReply, type Reply, UnexpectedRequest } from "./github_reply.ts";
import { resolveCommit } from "./github_rest.ts";

const MAX_TEXT_BYTES = 512_000;
const SNIFFED_BYTES = 8000;
const TOKEN =
  /[\s,\ufeff]+|#[^\n]*|("(?:[^"\\\n]|\\.)*"|\.\.\.|[_A-Za-z]\w*|-?\d+|[{}()[\]:=!$])/gy;

/** A requested field; `on` is the type that its fragment names, null outside one. */
interface QueryField {
  alias: string;
  name: string;
  on: string | null;
  args: Record<string, unknown>;
  fields: QueryField[];
}

interface Run {
  double: GithubDouble;
  account: Account;
  errors: { type: string; path: string[]; message: string }[];
  objects: number;
  bytes: number;
}

/** Answers a query. @throws {UnexpectedRequest} on one that is for more than the double knows. */
export function answerGraphql(double: GithubDouble, body: string, account: Account): Reply {
  const { query, variables } = parseBody(body);
  const run: Run = { double, account, errors: [], objects: 0, bytes: 0 };
  const data: Record<string, unknown> = {};
  for (const field of parseQuery(query, variables)) {
    if (field.name === "rateLimit") data[field.alias] = rateLimit(run, field);
    else if (field.name === "repository") data[field.alias] = repository(run, field);
    else throw new UnexpectedRequest(`GraphQL field "${field.name}"`);
  }
  if (run.bytes > double.graphqlMaxBytes) return errorReply(502, "Something went wrong.");
  return jsonReply(run.errors.length > 0 ? { data, errors: run.errors } : { data });
}

function parseBody(body: string): { query: string; variables: Record<string, unknown> } {
  try {
    const { query, variables = {} } = JSON.parse(body);
    if (typeof query === "string") return { query, variables };
  } catch { /* said below */ }
  throw new UnexpectedRequest("a GraphQL body that is not JSON with a query");
}

function rateLimit({ double, account }: Run, field: QueryField) {
  const { limit, remaining, resetAtMs } = double.accounts.quota(account, "graphql");
  const resetAt = new Date(resetAtMs).toISOString();
  const used = limit - remaining + 1;
  return pick(field.fields, { limit, cost: 1, remaining: remaining - 1, used, resetAt });
}

function repository(run: Run, field: QueryField): Record<string, unknown> | null {
  const { owner, name } = field.args;
  const found = run.double.registry.follow(`${owner}/${name}`);
  if (!found || found.blocked || !run.double.accounts.sees(run.account, found)) {
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
    if (inner.name !== "object") Object.assign(result, pick([inner], values));
    else if (run.objects++ < run.double.graphqlMaxObjects) {
      result[inner.alias] = object(run, found, inner);
    } else {
      const message = "Resource limits for this query exceeded.";
      const path = [field.alias, inner.alias];
      run.errors.push({ type: "RESOURCE_LIMITS_EXCEEDED", path, message });
      result[inner.alias] = null;
    }
  }
  return result;
}

function object(run: Run, { git, defaultBranch }: HostedRepository, field: QueryField) {
  const { oid, expression } = field.args;
  if (!git) return null;
  let revision = String(oid);
  if (expression !== undefined) {
    const [, ref = "", rest = ""] = /^([^:]*)(:.*)?$/s.exec(String(expression)) ?? [];
    revision = `${resolveCommit(git, ref, defaultBranch)}${rest}`;
  } else if (!/^[0-9a-f]{40}$/.test(revision)) {
    throw new UnexpectedRequest(`GraphQL object id "${revision}"`);
  }
  const found = git.find(revision);
  if (!found) return null;
  const type = found.type[0]!.toUpperCase() + found.type.slice(1);
  const values: Record<string, unknown> = { __typename: type, oid: found.oid };
  if (type === "Blob") {
    run.bytes += found.bytes.length;
    Object.assign(values, blobFields(found.bytes, run.double.graphqlStripsBom));
  }
  return pick(field.fields.filter(({ on }) => on === null || on === type), values);
}

/** `text` is cut at 512,000 bytes, null for binaries, and lossy where the bytes are not UTF-8. */
function blobFields(bytes: Uint8Array, stripsBom: boolean): Record<string, unknown> {
  const isBinary = bytes.subarray(0, SNIFFED_BYTES).includes(0);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: !stripsBom });
  const text = isBinary ? null : decoder.decode(bytes.subarray(0, MAX_TEXT_BYTES));
  return { byteSize: bytes.length, isBinary, isTruncated: bytes.length > MAX_TEXT_BYTES, text };
}

function pick(fields: QueryField[], values: Record<string, unknown>) {
  return Object.fromEntries(fields.map(({ alias, name }) => {
    if (!(name in values)) throw new UnexpectedRequest(`GraphQL field "${name}"`);
    return [alias, values[name]];
  }));
}

/** The fields that a query is for. @throws {UnexpectedRequest} on what it cannot read. */
function parseQuery(query: string, variables: Record<string, unknown>): QueryField[] {
  const tokens: string[] = [];
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < query.length;) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(query);
    if (!match) throw new UnexpectedRequest(`GraphQL near "${query.slice(at, at + 20)}"`);
    if (match[1] !== undefined) tokens.push(match[1]);
  }
  let at = 0;
  const take = (token: string) => tokens[at] === token && at++ >= 0;
  const next = (pattern: RegExp) => {
    const token = tokens[at++] ?? "";
    if (!pattern.test(token)) throw new UnexpectedRequest(`GraphQL at "${token}"`);
    return token;
  };
  const name = () => next(/^\w+$/);
  const value = () => {
    const token = next(/^(["\d-].*|true|false|null|\$)$/s);
    if (token !== "$") return JSON.parse(token);
    const variable = name();
    if (variable in variables) return variables[variable];
    throw new UnexpectedRequest(`GraphQL variable "$${variable}"`);
  };
  const selections = (on: string | null): QueryField[] => {
    const fields: QueryField[] = [];
    next(/^\{$/);
    while (!take("}")) {
      if (take("...")) {
        next(/^on$/);
        fields.push(...selections(name()));
        continue;
      }
      const alias = name();
      const field = take(":") ? name() : alias;
      const args: Record<string, unknown> = {};
      const hasArgs = take("(");
      while (hasArgs && !take(")")) {
        const key = name();
        next(/^:$/);
        args[key] = value();
      }
      fields.push({
        alias,
        name: field,
        on,
        args,
        fields: tokens[at] === "{" ? selections(null) : [],
      });
    }
    return fields;
  };
  if (take("query") && /^\w/.test(tokens[at] ?? "")) name();
  if (take("(")) { while (!take(")")) next(/^([\w$:!]|\w+)$/); }
  const fields = selections(null);
  if (at < tokens.length) throw new UnexpectedRequest("GraphQL with two operations");
  return fields;
}
