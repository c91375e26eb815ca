// Stands between the service and a source's GraphQL: passes each question on as it came, and keeps those in which a
// name stands anywhere but in a variable.

import type { RunningDouble } from "../tests/github/start_double.ts";

/** A question without a value: two variables, and aliases and object ids that are made here or checked hexadecimal. */
const QUERY =
  /^query \(\$owner: String!, \$name: String!\) \{ repository\(owner: \$owner, name: \$name\) \{ (?:f\d+: object\(oid: "[0-9a-f]{40}"\) \{ \.\.\. on Blob \{ text isBinary isTruncated \} \} ?)+\}\}$/;

/** What was asked by GraphQL. */
export interface GraphqlWatch {
  /** Where the service is to ask. */
  readonly url: string;
  /** Questions so far. */
  asked: number;
  /** Bodies that are not one query without values, and its two variables. */
  readonly spliced: string[];
}

/** Whether a body is a query of the one known form, with its values in variables. */
export function hasValuesInVariables(body: string): boolean {
  try {
    const { query, variables, ...others } = JSON.parse(body);
    const names = Object.keys(variables).sort().join();
    return QUERY.test(query) && names === "name,owner" && Object.keys(others).length === 0 &&
      Object.values(variables).every((value) => typeof value === "string");
  } catch {
    return false;
  }
}

/** Listens until `cleanup` is disposed of. */
export function watchGraphql(cleanup: AsyncDisposableStack, double: RunningDouble): GraphqlWatch {
  const spliced: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const body = await request.text();
    watch.asked++;
    if (!hasValuesInVariables(body)) spliced.push(body);
    const { method, headers } = request;
    return await fetch(double.graphqlUrl, { method, headers, body });
  });
  cleanup.use(server);
  const { pathname } = new URL(double.graphqlUrl);
  const watch = {
    url: `http://127.0.0.1:${server.addr.port}${pathname}`,
    asked: 0,
    spliced,
  };
  return watch;
}
