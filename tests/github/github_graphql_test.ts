// Proves the GraphQL endpoint: texts as git has them, and each of GitHub's ways to give less.

import { assertEquals } from "@std/assert";
import { serveRepository } from "./served_repository.ts";

const files = {
  "a.md": "# A\n",
  "bom.md": "\ufeff# B\n",
  "latin.txt": new Uint8Array([0x61, 0xe9]),
  "binary": new Uint8Array([1, 0, 2]),
  "long.txt": "x".repeat(512_001),
};

async function start(options: { assert?: boolean } = {}) {
  const served = await serveRepository(files, { ...options, name: "o/r" });
  const { gh, repository } = served;
  gh.addToken("t1");
  const ids = new Map((await repository.lsTree("main")).map(({ path, oid }) => [path, oid]));
  const post = async (query: string, variables: Record<string, unknown> = {}, token = "t1") => {
    const response = await fetch(gh.graphqlUrl, {
      method: "POST",
      headers: { authorization: `bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ query, variables }),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  return { ...served, id: (path: string) => ids.get(path)!, post };
}

const blob = "{ ... on Blob { text isBinary isTruncated byteSize oid } }";

Deno.test("answerGraphql() reads aliased blobs by id, inline and by variable", async () => {
  await using double = await start();
  const { id, gh } = double;
  const { status, headers, body } = await double.post(
    `query Read($owner: String!, $b: GitObjectID!) {
      rateLimit { cost remaining }
      repository(owner: $owner, name: "r") {
        a: object(oid: "${id("a.md")}") ${blob}
        b: object(oid: $b) { __typename ...Fields }
        none: object(oid: "${"0".repeat(40)}") ${blob}
        path: object(expression: "main:a.md") { ... on Blob { oid } ... on Tree { oid } }
      }
    }
    fragment Fields on Blob { text }`,
    { owner: "o", b: id("bom.md") },
  );
  assertEquals(status, 200);
  assertEquals(headers.get("x-ratelimit-resource"), "graphql");
  assertEquals(body, {
    data: {
      rateLimit: { cost: 1, remaining: 4999 },
      repository: {
        a: { text: "# A\n", isBinary: false, isTruncated: false, byteSize: 4, oid: id("a.md") },
        b: { __typename: "Blob", text: "\ufeff# B\n" },
        none: null,
        path: { oid: id("a.md") },
      },
    },
  });
  assertEquals([gh.quotaSpent("t1", "graphql"), gh.quotaSpent("t1")], [1, 0]);
});

Deno.test("answerGraphql() gives no true text for binary, long and Latin-1 files", async () => {
  await using double = await start();
  const { id } = double;
  double.gh.graphqlStripsBom = true;
  const { body } = await double.post(`{ repository(owner: "o", name: "r") {
    binary: object(oid: "${id("binary")}") { ... on Blob { text isBinary } }
    long: object(oid: "${id("long.txt")}") { ... on Blob { text isTruncated byteSize } }
    latin: object(oid: "${id("latin.txt")}") { ... on Blob { text isBinary } }
    bom: object(oid: "${id("bom.md")}") { ... on Blob { text } }
  } }`);
  assertEquals(body.data.repository, {
    binary: { text: null, isBinary: true },
    long: { text: "x".repeat(512_000), isTruncated: true, byteSize: 512_001 },
    latin: { text: "a\ufffd", isBinary: false },
    bom: { text: "# B\n" },
  });
});

Deno.test("answerGraphql() keeps to its limits", async () => {
  await using double = await start();
  const { gh, id } = double;
  const query = `{ repository(owner: "o", name: "r") {
    a: object(oid: "${id("a.md")}") { ... on Blob { byteSize } }
    b: object(oid: "${id("bom.md")}") { ... on Blob { byteSize } }
  } }`;
  gh.graphqlMaxObjects = 1;
  const partial = (await double.post(query)).body;
  assertEquals(partial.data.repository, { a: { byteSize: 4 }, b: null });
  assertEquals(partial.errors[0].path, ["repository", "b"]);
  gh.graphqlMaxObjects = Infinity;
  gh.graphqlMaxBytes = 10;
  assertEquals((await double.post(query)).status, 502);
  gh.graphqlMaxBytes = 11;
  assertEquals((await double.post(query)).status, 200);
  gh.setQuota("t1", { resource: "graphql", remaining: 0 });
  const spent = await double.post(query);
  assertEquals([spent.status, spent.body.errors[0].type], [200, "RATE_LIMITED"]);
  assertEquals(spent.headers.get("x-ratelimit-remaining"), "0");
});

Deno.test("answerGraphql() sees repositories as its token does", async () => {
  await using double = await start();
  const { gh } = double;
  const query = `{ repository(owner: "o", name: "r") { nameWithOwner isPrivate } }`;
  assertEquals((await double.post(query, {}, "nobody")).status, 401);
  const anonymous = await fetch(gh.graphqlUrl, { method: "POST", body: "{}" });
  assertEquals([anonymous.status, (await anonymous.json()).status], [401, "401"]);
  gh.rename("o/r", "o/moved");
  assertEquals((await double.post(query)).body.data.repository, {
    nameWithOwner: "o/moved",
    isPrivate: false,
  });
  gh.setVisibility("o/moved", "private");
  const hidden = (await double.post(query)).body;
  assertEquals([hidden.data.repository, hidden.errors[0].type], [null, "NOT_FOUND"]);
});

Deno.test("answerGraphql() does not expect a query that GitHub would refuse", async () => {
  await using double = await start({ assert: false });
  for (const query of ["{ viewer { login } }", "mutation { x }", '{ repository(owner: "o" }']) {
    assertEquals((await double.post(query)).status, 418);
  }
  assertEquals(double.gh.unexpected.length, 3);
});
