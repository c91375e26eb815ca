// The double against GitHub's own descriptions. Each double checks its REST
// exchanges at its end; here is what those checks find, and GraphQL, whose only
// query the double compares by its text.

import { schema, validate } from "@octokit/graphql-schema";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { buildSchema, execute, parse } from "graphql";
import { openGitHub, textFiles, uncharged } from "../source/open_github.ts";
import { TestClock } from "../test_clock.ts";
import { type Exchange, faultsOf } from "./exchange_checks.ts";
import { serveRepository } from "./served_repository.ts";

const json = (body: unknown) => new TextEncoder().encode(JSON.stringify(body));

const NOT_FOUND: Exchange = {
  method: "GET",
  path: "/repos/octo/site",
  accept: "application/vnd.github+json",
  status: 404,
  type: "application/json; charset=utf-8",
  body: json({ message: "Not Found" }),
};

/** Changes of that exchange, and the fault that each is. */
const CHANGES: readonly (Partial<Exchange> & { fault: string | null })[] = [
  { fault: null },
  { path: "/repositories/7/commits/heads%2Fmain", fault: null },
  {
    path: "/repositories/7/git/blobs/0",
    accept: "application/vnd.github.raw+json",
    fault: null,
  },
  { path: "/repos/octo/site/git/trees/main?recursive=1", fault: null },
  { path: "/repos/octo/site/branches/main", fault: "is not described" },
  { method: "POST", fault: "is not described" },
  { path: "/repos/octo/site?page=2", fault: 'the parameter "page"' },
  { accept: "application/vnd.github.sha", fault: "the media type" },
  { status: 418, fault: "is not described" },
  { type: "text/plain", fault: "is text/plain" },
  { body: json({ message: 404 }), fault: "message must be string" },
  {
    path: "/repos/octo/site/git/trees/main",
    status: 200,
    body: json({ sha: "0", tree: [] }),
    fault: "'truncated'",
  },
];

Deno.test("faultsOf() finds what GitHub's description does not have", async () => {
  for (const { fault, ...change } of CHANGES) {
    const faults = await faultsOf([{ ...NOT_FOUND, ...change }]);
    assertEquals([change, faults.length], [change, fault === null ? 0 : 1]);
    assertStringIncludes(faults.join(), fault ?? "");
  }
});

Deno.test("GraphQL queries and the double's data fit the schema", async () => {
  const clock = new TestClock();
  await using served = await serveRepository(textFiles(5), { now: clock.now });
  const { gh, repository } = served;
  gh.addToken("t1");
  const exchanges: {
    query: string;
    variables: Record<string, string>;
    data: unknown;
  }[] = [];
  gh.intercept = async (request, { kind }, real) => {
    if (kind !== "graphql") return null;
    const { query, variables } = await request.clone().json();
    const answer = await real();
    const { data } = await answer.clone().json();
    exchanges.push({ query, variables, data });
    return answer;
  };
  const source = openGitHub(gh, { clock, tokens: ["t1"] });
  const snapshot = await source.resolve({
    owner: "octo",
    repo: "site",
    branch: null,
  }, uncharged);
  const files = (await repository.lsTree("HEAD"))
    .map(({ path, oid, size }) => ({ path, id: oid, size: size! }));
  await source.blobs(snapshot, files, uncharged);
  for (const withCreated of [false, true]) {
    await source.history(snapshot, {
      files: files.slice(0, withCreated ? 1 : 5),
      withCreated,
    }, uncharged);
  }
  // A part of the objects, then no repository.
  gh.graphqlMaxObjects = 3;
  await source.blobs(snapshot, files, uncharged);
  gh.setVisibility("octo/site", "private");
  gh.remove("octo/site");
  await source.blobs(snapshot, files, uncharged);

  assertEquals(exchanges.length, 6);
  const types = buildSchema(schema.idl, { assumeValidSDL: true });
  for (const { query, variables, data } of exchanges) {
    assertEquals(validate(query), []);
    const result = await execute({
      schema: types,
      document: parse(query),
      variableValues: variables,
      rootValue: data,
      fieldResolver: (source, _arguments, _context, { path }) =>
        source[path.key],
      typeResolver: ({ parents }) => parents ? "Commit" : "Blob",
    });
    assertEquals(JSON.parse(JSON.stringify(result)), { data });
  }
});
