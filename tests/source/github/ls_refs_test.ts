// Against Git itself, whose answers come from `git upload-pack`, and against
// broken and hostile hosts: no answer makes the query throw, hang or read on.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CollectionsError } from "../../../lib/errors.ts";
import {
  lsRefs,
  type RefAnswer,
  RefSearch,
} from "../../../lib/source/github/ls_refs.ts";
import { candidatesOf } from "../../../lib/source/github/refs.ts";
import { consequencesOf } from "../../../lib/source/source_failure.ts";
import { GitHttpBridge } from "../../github/git_http_bridge.ts";
import { makeGitRepository } from "../../github/git_repository.ts";
import { GithubState } from "../../github/github_state.ts";
import { TestClock, turns } from "../../test_clock.ts";
import { openClient, uncharged } from "../open_github.ts";

const TYPE = "application/x-git-upload-pack-result";
const ID = "1234567890abcdef1234567890abcdef12345678";
const OTHER = "f".repeat(40);
const MIB = 1 << 20;

/** A bridge with one repository, `octo/site`. */
async function serve(branch = "main") {
  const repository = await makeGitRepository({ "a.md": "# A\n" }, { branch });
  const state = new GithubState();
  state.add("octo/site", repository);
  const bridge = new GitHttpBridge(state);
  const clock = new TestClock();
  const client = openClient({ clock });
  const ask = (
    ref = "main",
    { repo = "site", gitUrl = bridge.url, context = uncharged } = {},
  ) => {
    const query = { owner: "octo", repo, candidates: candidatesOf(ref, false) };
    return lsRefs({ client, clock, gitUrl }, query, context);
  };
  return {
    repository,
    state,
    bridge,
    ask,
    async [Symbol.asyncDispose]() {
      await bridge[Symbol.asyncDispose]();
      await repository[Symbol.asyncDispose]();
    },
  };
}

const answered = {
  owner: "octo",
  repo: "site",
  hasHead: true,
  defaultBranch: "main",
};
const missing = { ...answered, found: null };
const found = (candidate: string, commit: string) => ({
  ...answered,
  found: { candidate, commit },
});

/**
 * The candidate that was found, null for none or no repository, or the code of
 * the error.
 */
const outcomeOf = (asked: ReturnType<typeof lsRefs>): Promise<string | null> =>
  asked.then(
    (answer) => answer?.found?.candidate ?? null,
    (error) => error.code,
  );

Deno.test("lsRefs() finds branches, then tags, by whole names", async () => {
  await using served = await serve();
  const { repository, ask } = served;
  const first = await repository.head();
  const branches = [
    "main-2",
    "mai",
    "feature/a",
    "feature/a-b",
    "féé/𝒳",
    "HEADS",
    "both",
  ];
  for (const name of branches) {
    await repository.commit({ [`${name}.md`]: name }, { branch: name });
  }
  const tree = await repository.git("rev-parse", "HEAD^{tree}");
  for (const name of ["both", "light", first]) {
    await repository.tag(name, { at: first });
  }
  await repository.tag("noted", { at: first, annotated: true });
  await repository.git(
    "tag",
    "--annotate",
    "--message",
    "x",
    "nested",
    "refs/tags/noted",
  );
  await repository.git("update-ref", "refs/tags/tree", tree);
  for (const name of ["main", ...branches]) {
    assertEquals(
      await ask(name),
      found(`heads/${name}`, await repository.head(name)),
    );
  }
  for (const name of ["light", "noted", "nested", first]) {
    assertEquals(await ask(name), found(`tags/${name}`, first), name);
  }
  // It cannot be distinguished from a tag on a commit.
  assertEquals(await ask("tree"), found("tags/tree", tree));
  const absent = [
    "ma",
    "main-",
    "feature",
    "heads/main",
    "refs/heads/main",
    "féé/𝒴",
    "zz",
    tree,
  ];
  for (const name of absent) assertEquals(await ask(name), missing, name);
});

Deno.test("lsRefs() resolves HEAD to the default branch", async () => {
  await using served = await serve("trunk/é");
  const { ask, state, repository } = served;
  const commit = await repository.head("trunk/é");
  assertEquals(await ask("HEAD"), {
    ...found("HEAD", commit),
    defaultBranch: "trunk/é",
  });
  assertEquals(await ask("main"), { ...missing, defaultBranch: "trunk/é" });

  await repository.git("symbolic-ref", "HEAD", "refs/heads/gone");
  const gone = { defaultBranch: "gone", hasHead: false };
  assertEquals(await ask("trunk/é"), {
    ...found("heads/trunk/é", commit),
    ...gone,
  });
  assertEquals(await ask("nope"), { ...missing, ...gone });

  await Deno.writeTextFile(`${repository.dir}/HEAD`, `${commit}\n`);
  assertEquals(await ask("HEAD"), {
    ...found("HEAD", commit),
    defaultBranch: null,
  });

  state.add("octo/empty", null);
  const empty = { ...missing, repo: "empty", hasHead: false };
  for (const name of ["main", "HEAD"]) {
    assertEquals(await ask(name, { repo: "empty" }), empty);
  }
});

Deno.test("lsRefs() follows two moves on the same origin", async () => {
  await using served = await serve();
  const { state, repository, bridge, ask } = served;
  state.rename("octo/site", "Other/New.Name");
  const commit = await repository.head();
  const there = {
    ...found("heads/main", commit),
    owner: "Other",
    repo: "New.Name",
  };
  assertEquals(await ask("main"), there);
  state.redirect("octo/hop", "{git}/octo/site/git-upload-pack");
  assertEquals(await ask("main", { repo: "hop" }), there);
  assertEquals(bridge.requests.slice(-3), [
    "octo/hop",
    "octo/site",
    "Other/New.Name",
  ]);
  state.redirect("octo/loop", "/octo/loop.git/git-upload-pack");
  bridge.requests.length = 0;
  assertEquals(await outcomeOf(ask("main", { repo: "loop" })), "source-failed");
  assertEquals(bridge.requests.length, 3);
});

Deno.test("lsRefs() follows no other redirect", async () => {
  await using served = await serve();
  const { bridge } = served;
  const good = "/octo/site.git/git-upload-pack";
  const port = new URL(bridge.url).port;
  const redirects: [location: string, status?: number, folder?: string][] = [
    [`http://localhost:${port}${good}`],
    [`https://127.0.0.1:${port}${good}`],
    [`//elsewhere.test${good}`],
    [`${good}?a=b`],
    ["/octo/site.git/info/refs"],
    ["/octo/%2e%2e/git-upload-pack"],
    ["/octo/s%2Fite/git-upload-pack"],
    [good, 302],
    [good, 308],
    // Out of the path of the host's address.
    [`/abc${good}`, 301, "/git"],
  ];
  for (const [location, status = 301, folder = ""] of redirects) {
    bridge.requests.length = 0;
    bridge.intercept = () =>
      new Response(null, { status, headers: { location } });
    const outcome = await outcomeOf(
      served.ask("main", { gitUrl: bridge.url + folder }),
    );
    assertEquals([location, outcome, bridge.requests.length], [
      location,
      "source-failed",
      1,
    ]);
  }
});

Deno.test("lsRefs() tells a denial and a limit by their status", async () => {
  await using served = await serve();
  const { bridge } = served;
  const good = answer(`${ID} refs/heads/main`);
  const given = (status: number, headers: HeadersInit) => {
    bridge.intercept = () => new Response(good, { status, headers });
    return served.ask();
  };
  for (const status of [206, 400, 410, 500, 503]) {
    assertEquals(
      await outcomeOf(given(status, { "content-type": TYPE })),
      "source-failed",
    );
  }
  assertEquals(
    await outcomeOf(given(200, { "content-type": "text/html" })),
    "source-failed",
  );
  assertEquals(
    await outcomeOf(given(200, { "content-type": TYPE })),
    "heads/main",
  );
  for (const status of [401, 403, 404, 451]) {
    assertEquals(await given(status, { "content-type": TYPE }), null);
  }
  bridge.intercept = endless(() => "a".repeat(60_000), { status: 401 }).respond;
  assertEquals(await served.ask(), null);
  const waits = { "0": 1000, "999999999999": 3_600_000, "soon": 3_600_000 };
  for (const [value, waitMs] of Object.entries(waits)) {
    const error = await assertRejects(
      () => given(429, { "retry-after": value }),
      CollectionsError,
    );
    assertEquals([error.code, consequencesOf(error)], ["source-rate-limited", {
      waitMs,
    }]);
  }
});

Deno.test("lsRefs() names itself Git and the service", async () => {
  await using served = await serve();
  const { bridge, ask } = served;
  const names: (string | null)[] = [];
  bridge.intercept = ({ headers }) => {
    names.push(headers.get("user-agent"));
    return null;
  };
  assertEquals([await outcomeOf(ask()), names], ["heads/main", [
    "git/2 (test)",
  ]]);
  const other = await fetch(`${bridge.url}/octo/site.git/git-upload-pack`, {
    method: "POST",
  });
  assertEquals([other.status, await other.text()], [404, "Not Found\n"]);
});

Deno.test("lsRefs() stops reading past the name among 10,000 refs", async () => {
  await using served = await serve();
  const { repository, bridge, ask } = served;
  const commit = await repository.head();
  const names = Array.from({ length: 10_000 }, (_, n) => `v${n}`).toSorted();
  const refs = [...names.map((name) => `heads/${name}`), "tags/v"];
  const packed = refs.map((name) => `${commit} refs/${name}\n`).join("");
  const sorted = "# pack-refs with: peeled fully-peeled sorted \n";
  await Deno.writeTextFile(`${repository.dir}/packed-refs`, sorted + packed);
  for (
    const candidate of ["heads/v0", "heads/v5000", "heads/v9999", "tags/v"]
  ) {
    assertEquals(
      await ask(candidate.slice(candidate.indexOf("/") + 1)),
      found(candidate, commit),
    );
  }
  assertEquals(await ask("v-"), missing);

  const first = [
    `${OTHER} HEAD symref-target:refs/heads/main`,
    `${ID} refs/heads/main`,
  ];
  for (
    const [name, candidate] of [["main", "heads/main"], ["mai", null]] as const
  ) {
    const { respond, state } = endless((n) =>
      first[n] ?? `${ID} refs/tags/n${n}`
    );
    bridge.intercept = respond;
    assertEquals(await outcomeOf(ask(name)), candidate);
    while (!state.isLeft) await turns();
    assert(state.bytes < 2 * MIB, `${state.bytes}`);
  }
});

Deno.test("lsRefs() cannot use an answer over 4 MiB or cut off", async () => {
  await using served = await serve();
  const { bridge, ask } = served;
  bridge.intercept =
    endless((n) => `${ID} refs/heads/${n}${"a".repeat(60_000)}`).respond;
  await assertRejects(() => ask(), CollectionsError);
  const headers = { "content-type": TYPE, "content-encoding": "gzip" };
  bridge.intercept = () =>
    new Response(answer(`${ID} refs/heads/main`), { headers });
  assertEquals(await outcomeOf(ask()), "source-failed");
  await bridge.down();
  assertEquals(await outcomeOf(ask()), "source-failed");
});

Deno.test("lsRefs() sends nothing once its signal has aborted", async () => {
  await using served = await serve();
  const reason = new Error("the client left");
  const context = { ...uncharged, signal: AbortSignal.abort(reason) };
  assertEquals(
    await assertRejects(() => served.ask("main", { context })),
    reason,
  );
  assertEquals(served.bridge.requests, []);
});

/** An answer without end, line by line, and what was read of it. */
function endless(line: (n: number) => string, init: ResponseInit = {}) {
  const state = { lines: 0, bytes: 0, isLeft: false };
  const body = new ReadableStream({
    pull(controller) {
      const bytes = bytesOf(pktLine(line(state.lines++)));
      state.bytes += bytes.length;
      controller.enqueue(bytes);
    },
    cancel: () => void (state.isLeft = true),
  });
  const headers = { "content-type": TYPE };
  return { state, respond: () => new Response(body, { headers, ...init }) };
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

/** What a search finds in an answer that arrives whole, or byte by byte. */
function search(text: string, isWhole: boolean) {
  const search = new RefSearch(["heads/main", "tags/main"]);
  const bytes = bytesOf(text);
  for (let end = 1; !isWhole && end < bytes.length; end++) {
    search.take(bytes.subarray(0, end));
  }
  search.take(bytes);
  return search.answer();
}

Deno.test("RefSearch refuses what does not follow the protocol", () => {
  const main = pktLine(`${ID} refs/heads/main`);
  const other = pktLine(`${ID} refs/heads/a`);
  const unusable = {
    "an empty answer": "",
    "an answer without a flush": other,
    "a length cut off": `${other}00`,
    "a line cut off": `${main.slice(0, 30)}0000`,
    ...Object.fromEntries(
      [
        "0001",
        "0002",
        "0003",
        "0004",
        "00zz",
        "-001",
        " 0a0",
        "0x0a",
        "PACK",
        "\0\0\0\0",
      ]
        .map((length) => [`a length of ${length}`, `${length}${main}0000`]),
    ),
    "a length over the limit": `fff1${"a".repeat(65_536)}0000`,
    "a name with a NUL": answer(`${ID} refs/heads/ma\0in`),
    "the first version's advertisement": answer(
      `${ID} refs/heads/main\0multi_ack`,
    ),
    "an error line": "000eERR no way0000",
    "an id of 39 digits": answer(`${ID.slice(1)} refs/heads/main`),
    "an id of SHA-256": answer(`${ID.padEnd(64, "0")} refs/heads/main`),
    "an id in capitals": answer(`${ID.toUpperCase()} refs/heads/main`),
    "an attribute that was not requested": answer(
      `${ID} refs/heads/main peels:x`,
    ),
    "two peeled ids": answer(`${ID} refs/heads/main peeled:${ID} peeled:${ID}`),
    "an unborn branch": answer("unborn refs/heads/main"),
    "a ref twice": answer(`${ID} refs/heads/a`, `${OTHER} refs/heads/a`),
  };
  const capitals = `${main.toUpperCase().slice(0, 4)}${main.slice(4)}`;
  const found = { candidate: "heads/main", commit: ID };
  const results: [text: string, result: RefAnswer][] = [
    [`${capitals}0000 what follows`, {
      found,
      hasHead: false,
      defaultBranch: null,
    }],
    [answer(`${OTHER} HEAD symref-target:refs/heads/x`), {
      found: null,
      hasHead: true,
      defaultBranch: "x",
    }],
    [answer("unborn HEAD symref-target:refs/heads/x"), {
      found: null,
      hasHead: false,
      defaultBranch: "x",
    }],
    ["0000", { found: null, hasHead: false, defaultBranch: null }],
  ];
  for (const isWhole of [true, false]) {
    for (const [what, text] of Object.entries(unusable)) {
      assertThrows(
        () => search(text, isWhole),
        CollectionsError,
        undefined,
        what,
      );
    }
    for (const [text, result] of results) {
      assertEquals(search(text, isWhole), result);
    }
  }
});
