import { assert } from "@std/assert";
import { hasValuesInVariables } from "../../bench/graphql_watch.ts";

const OID = "0123456789abcdef0123456789abcdef01234567";
const ask = (owner: string, oid = OID) =>
  `query ($owner: String!, $name: String!) { repository(owner: ${owner}, name: $name) { ` +
  `f0: object(oid: "${oid}") { ... on Blob { text isBinary isTruncated } } ` +
  `f1: object(oid: "${OID}") { ... on Blob { text isBinary isTruncated } }}}`;
const body = (query: string, variables: unknown = { owner: 'o"o', name: "site" }, more = {}) =>
  JSON.stringify({ query, variables, ...more });

Deno.test("hasValuesInVariables() tells a name in a variable from one in the query's text", () => {
  assert(hasValuesInVariables(body(ask("$owner"))));
  const wrong = [
    body(ask('"octo"')),
    body(ask("$owner", "main:posts/a.md")),
    body(ask("$owner", `${OID}") { id } x: object(oid: "${OID}`)),
    body(`${ask("$owner")} query Other { viewer { login } }`),
    body(ask("$owner"), { owner: "octo" }),
    body(ask("$owner"), { owner: { name: "octo" }, name: "site" }),
    body(ask("$owner"), undefined, { operationName: "x" }),
    JSON.stringify({ query: ask("$owner") }),
    "{",
  ];
  for (const text of wrong) assert(!hasValuesInVariables(text), text);
});
