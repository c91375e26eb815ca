// Against Git itself, whose answers come from `git upload-pack`, and against broken and hostile hosts: no answer makes
// the query throw, hang or read on.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import fc from "fast-check";
import { lsRefs, type LsRefsResult, RefSearch } from "../../../lib/source/github/git_refs.ts";
import { formsOf } from "../../../lib/source/github/refs.ts";
import { GitHttpBridge } from "../../github/git_http_bridge.ts";
import { makeGitRepository } from "../../github/git_repository.ts";
import { GithubState } from "../../github/github_state.ts";
import { TestClock } from "../../test_clock.ts";
import { openClient, uncharged } from "../open_github.ts";

const TYPE = "application/x-git-upload-pack-result";
const ID = "1234567890abcdef1234567890abcdef12345678";
const OTHER = "f".repeat(40);
const FORMS = ["heads/main", "tags/main"];
const MIB = 1 << 20;

/** A bridge with one repository, `octo/site`. */
async function serve(branch = "main") {
  const repository = await makeGitRepository({ "a.md": "# A\n" }, { branch });
  const state = new GithubState();
  state.add("octo/site", repository);
  const bridge = new GitHttpBridge(state);
  const clock = new TestClock();
  const client = openClient({ clock });
  return {
    ...{ repository, state, bridge, clock },
    ask(
      ref = "main",
      { repo = "site", gitUrl = bridge.url, signal }: {
        repo?: string;
        gitUrl?: string;
        signal?: AbortSignal;
      } = {},
    ): Promise<LsRefsResult> {
      const query = { owner: "octo", repo, forms: formsOf(ref, false) };
      return lsRefs({ client, clock, gitUrl }, query, { ...uncharged, signal });
    },
    async [Symbol.asyncDispose]() {
      await bridge[Symbol.asyncDispose]();
      await repository[Symbol.asyncDispose]();
    },
  };
}

const answered = { owner: "octo", repo: "site", defaultBranch: "main" };
const missing = { ...answered, kind: "missing" as const };
const found = (form: string, commit: string) =>
  ({ ...answered, kind: "found", form, commit }) as const;

Deno.test("lsRefs() finds branches, then tags, peeled, by their whole names and no others", async () => {
  await using served = await serve();
  const { repository, ask } = served;
  const first = await repository.head();
  const branches = ["main-2", "mai", "feature/a", "feature/a-b", "féé/𝒳", "HEADS", "both"];
  for (const name of branches) await repository.commit({ [`${name}.md`]: name }, { branch: name });
  const tree = await repository.git("rev-parse", "HEAD^{tree}");
  for (const name of ["both", "light", first]) await repository.tag(name, { at: first });
  await repository.tag("noted", { at: first, annotated: true });
  await repository.git("tag", "--annotate", "--message", "x", "nested", "refs/tags/noted");
  await repository.git("update-ref", "refs/tags/tree", tree);
  for (const name of ["main", ...branches]) {
    assertEquals(await ask(name), found(`heads/${name}`, await repository.head(name)));
  }
  for (const name of ["light", "noted", "nested", first]) {
    assertEquals(await ask(name), found(`tags/${name}`, first), name);
  }
  // It cannot be distinguished from a tag on a commit.
  assertEquals(await ask("tree"), found("tags/tree", tree));
  const absent = ["ma", "main-", "feature", "heads/main", "refs/heads/main", "féé/𝒴", "zz", tree];
  for (const name of absent) assertEquals(await ask(name), missing, name);
  await repository.deleteBranch("mai");
  assertEquals(await ask("mai"), missing);
});

Deno.test("lsRefs() resolves HEAD to the default branch, and says where there is none", async () => {
  await using served = await serve("trunk/é");
  const { ask, state, repository } = served;
  const commit = await repository.head("trunk/é");
  assertEquals(await ask("HEAD"), { ...found("HEAD", commit), defaultBranch: "trunk/é" });
  assertEquals(await ask("main"), { ...missing, defaultBranch: "trunk/é" });

  await repository.git("symbolic-ref", "HEAD", "refs/heads/gone");
  const gone = { defaultBranch: "gone" };
  assertEquals(await ask("trunk/é"), { ...found("heads/trunk/é", commit), ...gone });
  assertEquals(await ask("nope"), { ...answered, ...gone, kind: "unborn" });

  await Deno.writeTextFile(`${repository.dir}/HEAD`, `${commit}\n`);
  assertEquals(await ask("HEAD"), { ...found("HEAD", commit), defaultBranch: null });

  state.add("octo/empty", null);
  for (const name of ["main", "HEAD"]) {
    assertEquals(await ask(name, { repo: "empty" }), {
      ...answered,
      repo: "empty",
      kind: "unborn",
    });
  }
});

Deno.test("lsRefs() follows two moves on the same origin and says where it arrived", async () => {
  await using served = await serve();
  const { state, repository, bridge, ask } = served;
  state.rename("octo/site", "Other/New.Name");
  const there = {
    ...found("heads/main", await repository.head()),
    ...{ owner: "Other", repo: "New.Name" },
  };
  assertEquals(await ask("main"), there);
  state.redirect("octo/hop", "{git}/octo/site/git-upload-pack");
  assertEquals(await ask("main", { repo: "hop" }), there);
  assertEquals(bridge.requests.slice(-3), ["octo/hop", "octo/site", "Other/New.Name"]);
  state.redirect("octo/loop", "/octo/loop.git/git-upload-pack");
  bridge.requests.length = 0;
  assertEquals((await ask("main", { repo: "loop" })).kind, "unusable");
  assertEquals(bridge.requests.length, 3);
});

Deno.test("lsRefs() follows no other redirect", async () => {
  await using served = await serve();
  const { state, bridge } = served;
  const good = "/octo/site.git/git-upload-pack";
  const port = new URL(bridge.url).port;
  const locations = [
    `http://localhost:${port}${good}`,
    `https://127.0.0.1:${port}${good}`,
    `//elsewhere.test${good}`,
    `${good}?a=b`,
    "/octo/site.git/info/refs",
    "/octo/site.git",
    "/a/octo/site.git/git-upload-pack",
    "/octo/../../git-upload-pack",
    "/octo/%2e%2e/git-upload-pack",
    "/octo/s%2Fite/git-upload-pack",
    "/login/oauth",
    "http://[",
    "data:text/plain,x",
    "",
  ];
  for (const location of locations) {
    state.redirect("octo/moved", location);
    bridge.requests.length = 0;
    assertEquals((await served.ask("main", { repo: "moved" })).kind, "unusable", location);
    assertEquals(bridge.requests, ["octo/moved"], location);
  }
  // Nor one with another status, or that leads out of the path of the host's address.
  for (const status of [302, 303, 307, 308, 301]) {
    bridge.requests.length = 0;
    const [gitUrl, location] = status === 301
      ? [`${bridge.url}/git`, `/abc${good}`]
      : [bridge.url, good];
    bridge.intercept = () => new Response(null, { status, headers: { location } });
    assertEquals((await served.ask("main", { gitUrl })).kind, "unusable");
    assertEquals(bridge.requests.length, 1);
  }
});

Deno.test("lsRefs() tells a denial and a limit by their status, and uses a list by its type alone", async () => {
  await using served = await serve();
  const { bridge, clock } = served;
  const good = answer(`${ID} refs/heads/main`);
  const given = (status: number, headers: HeadersInit): Promise<LsRefsResult> => {
    bridge.intercept = () => new Response(good, { status, headers });
    return served.ask();
  };
  for (const status of [206, 403, 404, 451, 500, 503]) {
    assertEquals((await given(status, { "content-type": TYPE })).kind, "unusable");
  }
  assertEquals((await given(200, { "content-type": "text/html" })).kind, "unusable");
  assertEquals((await given(200, { "content-type": TYPE })).kind, "found");
  assertEquals(await given(401, {}), { kind: "denied" });
  bridge.intercept = endless(() => "a".repeat(MIB), { status: 401 }).respond;
  assertEquals(await served.ask(), { kind: "denied" });
  const waits: [retryAfter: string, ms: number][] = [
    ["120", 120_000],
    ["0", 1000],
    ["999999999999", 86_400_000],
    [new Date(clock.now() + 90_000).toUTCString(), 90_000],
    ["soon", 3_600_000],
  ];
  for (const [value, retryAfterMs] of waits) {
    const result = await given(429, { "retry-after": value });
    assertEquals(result, { kind: "rate-limited", retryAfterMs }, value);
  }
});

Deno.test("lsRefs() reads at most 4 MiB, of what a small gzip body becomes too", async () => {
  await using served = await serve();
  const line = (n: number) => pktLine(`${ID} refs/heads/${n}${"a".repeat(60_000)}`);
  const bytes = new TextEncoder().encode(Array.from({ length: 71 }, (_, n) => line(n)).join(""));
  const gzip = await new Response(
    new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip")),
  ).bytes();
  assert(bytes.length > 4 * MIB && gzip.length < 100_000);
  const headers = { "content-type": TYPE, "content-encoding": "gzip" };
  for (const respond of [() => new Response(gzip, { headers }), endless(line).respond]) {
    served.bridge.intercept = respond;
    const result = await served.ask();
    assert(result.kind === "unusable" && result.reason.includes("too long"), result.kind);
  }
});

Deno.test("lsRefs() finds one of 10,000 refs, and stops reading past the name", async () => {
  await using served = await serve();
  const { repository, bridge } = served;
  const commit = await repository.head();
  const names = Array.from({ length: 10_000 }, (_, n) => `v${n}`).toSorted();
  const refs = [
    ...names.map((name) => `heads/${name}`),
    ...["v", ...names].map((name) => `tags/${name}`),
  ];
  const packed = refs.map((name) => `${commit} refs/${name}\n`).join("");
  const sorted = "# pack-refs with: peeled fully-peeled sorted \n";
  await Deno.writeTextFile(`${repository.dir}/packed-refs`, sorted + packed);
  for (const name of ["v0", "v5000", "v9999"]) {
    assertEquals(await served.ask(name), found(`heads/${name}`, commit));
  }
  assertEquals(await served.ask("v"), found("tags/v", commit));
  assertEquals(await served.ask("v-"), missing);

  const head = `${OTHER} HEAD symref-target:refs/heads/main`;
  for (const [name, kind] of [["main", "found"], ["mai", "missing"]]) {
    const first = [head, `${ID} refs/heads/main`];
    const { respond, state } = endless((n) => pktLine(first[n] ?? `${ID} refs/tags/n${n}`));
    bridge.intercept = respond;
    assertEquals((await served.ask(name!)).kind, kind);
    while (!state.isLeft) await new Promise((resume) => setTimeout(resume, 1));
    assert(state.bytes < 2 * MIB, `${state.bytes}`);
  }
});

Deno.test("lsRefs() cannot use an answer that is late or cut off, nor a host that is down", async () => {
  await using served = await serve();
  const { bridge, clock } = served;
  const arrived = Promise.withResolvers<void>();
  const never = Promise.withResolvers<Response>();
  bridge.intercept = () => {
    arrived.resolve();
    return never.promise;
  };
  const late = served.ask();
  await arrived.promise;
  clock.advance(10_000);
  assertEquals((await late).kind, "unusable");
  never.resolve(new Response());
  const headers = { "content-type": TYPE, "content-encoding": "gzip" };
  bridge.intercept = () => new Response(answer(`${ID} refs/heads/main`), { headers });
  assertEquals((await served.ask()).kind, "unusable");
  await bridge.down();
  assertEquals((await served.ask()).kind, "unusable");
});

Deno.test("lsRefs() sends nothing once its signal has aborted, and throws the reason", async () => {
  await using served = await serve();
  const reason = new Error("the client left");
  const asked = served.ask("main", { signal: AbortSignal.abort(reason) });
  assertEquals(await assertRejects(() => asked), reason);
  assertEquals(served.bridge.requests, []);
});

/** A list of refs without end, piece by piece, and what was read of it. */
function endless(piece: (n: number) => string, init: ResponseInit = {}) {
  const state = { pieces: 0, bytes: 0, isLeft: false };
  const body = new ReadableStream({
    pull(controller) {
      const bytes = bytesOf(piece(state.pieces++));
      state.bytes += bytes.length;
      controller.enqueue(bytes);
    },
    cancel: () => void (state.isLeft = true),
  });
  return {
    state,
    respond: () => new Response(body, { headers: { "content-type": TYPE }, ...init }),
  };
}

function pktLine(text: string): string {
  return `${(text.length + 5).toString(16).padStart(4, "0")}${text}\n`;
}

/** An answer of these refs, its bytes as characters. */
function answer(...refs: string[]): string {
  return `${refs.map(pktLine).join("")}0000`;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** What a search finds in an answer that arrives in pieces of these many bytes. */
function search(bytes: Uint8Array<ArrayBuffer>, pieceBytes = bytes.length) {
  const search = new RefSearch(FORMS);
  for (let end = pieceBytes; end < bytes.length; end += pieceBytes) {
    search.take(bytes.subarray(0, end));
  }
  search.take(bytes);
  return search.answer();
}

Deno.test("RefSearch refuses every answer that does not follow the protocol", () => {
  const main = pktLine(`${ID} refs/heads/main`);
  const other = pktLine(`${ID} refs/heads/a`);
  const unusable = {
    "an empty answer": "",
    "an answer without a flush": other,
    "a length cut off": `${other}00`,
    "a line cut off": `${main.slice(0, 30)}0000`,
    ...Object.fromEntries(
      ["0001", "0002", "0003", "0004", "00zz", "-001", " 0a0", "0x0a", "PACK", "\0\0\0\0"]
        .map((length) => [`a length of ${length}`, `${length}${main}0000`]),
    ),
    "a length over the limit": `fff1${"a".repeat(65_536)}0000`,
    "a name with a NUL": answer(`${ID} refs/heads/ma\0in`),
    "the first version's advertisement": answer(`${ID} refs/heads/main\0multi_ack`),
    "an error line": "000eERR no way0000",
    "an id of 39 digits": answer(`${ID.slice(1)} refs/heads/main`),
    "an id of SHA-256": answer(`${ID.padEnd(64, "0")} refs/heads/main`),
    "an id in capitals": answer(`${ID.toUpperCase()} refs/heads/main`),
    "an attribute that was not requested": answer(`${ID} refs/heads/main peels:x`),
    "two peeled ids": answer(`${ID} refs/heads/main peeled:${ID} peeled:${ID}`),
    "an unborn branch": answer("unborn refs/heads/main"),
    "a ref twice": answer(`${ID} refs/heads/a`, `${OTHER} refs/heads/a`),
  };
  for (const [what, text] of Object.entries(unusable)) {
    assertThrows(() => search(bytesOf(text)), SyntaxError, undefined, what);
  }
  const lines = `${main.toUpperCase().slice(0, 4)}${main.slice(4)}`;
  assertEquals(search(bytesOf(`${lines}0000 what follows`)), {
    ...{ kind: "found", form: "heads/main", commit: ID, defaultBranch: null },
  });
});

Deno.test("RefSearch gives a result or a SyntaxError for any bytes in any pieces, and a commit only as it was sent", () => {
  const line = fc.constantFrom(
    `${OTHER} HEAD symref-target:refs/heads/main`,
    "unborn HEAD symref-target:refs/heads/main",
    `${ID} refs/heads/main`,
    `${OTHER} refs/heads/main-2`,
    `${OTHER} refs/tags/main peeled:${ID}`,
    "ERR refused",
  ).map((text) => bytesOf(pktLine(text)));
  const part = fc.oneof(
    { weight: 8, arbitrary: line },
    { weight: 4, arbitrary: fc.constant(bytesOf("0000")) },
    fc.uint8Array({ maxLength: 8 }),
  );
  const seen = new Set<string>();
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 6 }),
      fc.integer({ min: 1, max: 99 }),
      (parts, size) => {
        const bytes = new Uint8Array(parts.flatMap((part) => [...part]));
        try {
          const result = search(bytes, size);
          seen.add(result.kind);
          if (result.kind === "found") assertEquals(result.commit, ID);
        } catch (error) {
          assert(error instanceof SyntaxError);
          seen.add("refused");
        }
      },
    ),
    { numRuns: 2000 },
  );
  assertEquals([...seen].toSorted(), ["found", "missing", "refused", "unborn"]);
});
