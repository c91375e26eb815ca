// POST /graphql, for reading many blobs at once. It takes one form of query, whatever its white space: aliased `object`
// fields of one `repository`. Its limits can be set low, since GitHub's are not published. https://docs.github.com/graphql

import type { GithubDouble } from "./github_double.ts";
import type { Account } from "./github_registry.ts";
import { jsonReply, type Reply, UnexpectedRequest } from "./github_rest.ts";

const MAX_TEXT_BYTES = 512_000;
const SNIFFED_BYTES = 8000;

const QUERY =
  /^query ?\(\$owner: ?String!,? ?\$name: ?String!\) ?\{ ?repository\(owner: ?\$owner,? ?name: ?\$name\) ?\{(.*)\} ?\}$/;
const OBJECT = / ?(\w+): ?object\(oid: ?"([0-9a-f]{40})"\) ?\{ ?\.\.\. ?on Blob ?\{([\w ]+)\} ?\}/y;

/** Answers a query. @throws {UnexpectedRequest} on one of another form. */
export function answerGraphql(double: GithubDouble, body: string, account: Account): Reply {
  const { owner, name, objects } = parseQuery(body);
  const found = double.registry.follow(`${owner}/${name}`);
  if (!found || found.blocked || !double.accounts.sees(account, found)) {
    const message = `Could not resolve to a Repository with the name '${owner}/${name}'.`;
    const errors = [{ type: "NOT_FOUND", path: ["repository"], message }];
    return jsonReply({ data: { repository: null }, errors });
  }
  const errors: unknown[] = [];
  const values = objects.map(({ alias, oid, fields }, index) => {
    if (index >= double.graphqlMaxObjects) {
      const message = "Resource limits for this query exceeded.";
      errors.push({ type: "RESOURCE_LIMITS_EXCEEDED", path: ["repository", alias], message });
      return [alias, null];
    }
    const object = found.git?.store.read(oid) ?? null;
    if (object?.type !== "blob") return [alias, object && {}];
    const values = blobFields(object.bytes, double.graphqlStripsBom);
    const unknown = fields.find((field) => !(field in values));
    if (unknown !== undefined) throw new UnexpectedRequest(`GraphQL field "${unknown}"`);
    return [alias, Object.fromEntries(fields.map((field) => [field, values[field]]))];
  });
  const data = { repository: Object.fromEntries(values) };
  return jsonReply(errors.length > 0 ? { data, errors } : { data });
}

function parseQuery(body: string) {
  const { query, variables } = JSON.parse(body);
  const selections = QUERY.exec(String(query).replaceAll(/\s+/g, " ").trim())?.[1]?.trimEnd();
  const objects: { alias: string; oid: string; fields: string[] }[] = [];
  OBJECT.lastIndex = 0;
  while (selections !== undefined && OBJECT.lastIndex < selections.length) {
    const at = OBJECT.lastIndex;
    const [, alias, oid, fields] = OBJECT.exec(selections) ?? [];
    if (!alias || !oid || !fields) {
      throw new UnexpectedRequest(`GraphQL near "${selections.slice(at, at + 40)}"`);
    }
    objects.push({ alias, oid, fields: fields.trim().split(" ") });
  }
  const { owner, name } = variables ?? {};
  if (objects.length === 0 || typeof owner !== "string" || typeof name !== "string") {
    throw new UnexpectedRequest("GraphQL for something else than objects of a repository");
  }
  return { owner, name, objects };
}

/** `text` is cut at 512,000 bytes, null for binaries, and lossy where the bytes are not UTF-8. */
function blobFields(bytes: Uint8Array, stripsBom: boolean): Record<string, unknown> {
  const isBinary = bytes.subarray(0, SNIFFED_BYTES).includes(0);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: !stripsBom });
  const text = isBinary ? null : decoder.decode(bytes.subarray(0, MAX_TEXT_BYTES));
  return { byteSize: bytes.length, isBinary, isTruncated: bytes.length > MAX_TEXT_BYTES, text };
}
