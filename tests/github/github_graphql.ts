// POST /graphql, for reading many blobs at once. It takes one form of query, whatever its white space: the `text` of
// aliased `object` fields of one `repository`. Its limits can be set low, since GitHub's are not published.
// https://docs.github.com/graphql

import type { GithubDouble } from "./github_double.ts";
import type { Account } from "./github_registry.ts";
import { jsonReply, type Reply, UnexpectedRequest } from "./github_rest.ts";

const MAX_TEXT_BYTES = 512_000;
const SNIFFED_BYTES = 8000;

const QUERY =
  /^query ?\(\$owner: ?String!,? ?\$name: ?String!\) ?\{ ?repository\(owner: ?\$owner,? ?name: ?\$name\) ?\{((?: ?\w+: ?object\(oid: ?"[0-9a-f]{40}"\) ?\{ ?\.\.\. ?on Blob ?\{ ?text ?\} ?\})+) ?\} ?\}$/;
const OBJECT = /(\w+): ?object\(oid: ?"([0-9a-f]{40})"/g;

/** Answers a query. @throws {UnexpectedRequest} on one of another form. */
export function answerGraphql(double: GithubDouble, body: string, account: Account): Reply {
  const { query, variables: { owner, name } = {} } = JSON.parse(body);
  const [, objects] = QUERY.exec(String(query).replaceAll(/\s+/g, " ").trim()) ?? [];
  if (!objects || !owner || !name) throw new UnexpectedRequest(`GraphQL "${query}"`);
  const found = double.registry.follow(`${owner}/${name}`);
  if (!found || found.blocked || !double.accounts.sees(account, found)) {
    const message = `Could not resolve to a Repository with the name '${owner}/${name}'.`;
    const errors = [{ type: "NOT_FOUND", path: ["repository"], message }];
    return jsonReply({ data: { repository: null }, errors });
  }
  const errors: unknown[] = [];
  const values = Array.from(objects.matchAll(OBJECT), ([, alias, oid], index) => {
    if (index >= double.graphqlMaxObjects) {
      const message = "Resource limits for this query exceeded.";
      errors.push({ type: "RESOURCE_LIMITS_EXCEEDED", path: ["repository", alias], message });
      return [alias, null];
    }
    const object = found.git?.store.read(oid!) ?? null;
    if (object?.type !== "blob") return [alias, object && {}];
    return [alias, { text: textOf(object.bytes, double.graphqlStripsBom) }];
  });
  const data = { repository: Object.fromEntries(values) };
  return jsonReply(errors.length > 0 ? { data, errors } : { data });
}

/** Cut at 512,000 bytes, null for binaries, and lossy where the bytes are not UTF-8. */
function textOf(bytes: Uint8Array, stripsBom: boolean): string | null {
  if (bytes.subarray(0, SNIFFED_BYTES).includes(0)) return null;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: !stripsBom });
  return decoder.decode(bytes.subarray(0, MAX_TEXT_BYTES));
}
