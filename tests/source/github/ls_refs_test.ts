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
    { repo = "site", gitUrl = bridge.url } = {},
  ) => {
    const query = { owner: "octo", repo, candidates: candidatesOf(ref, false) };
    return lsRefs({ client, clock, gitUrl }, query, uncharged);
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
  const branches = ["main-2", "mai", "feature/a", "féé/𝒳", "both", "light-2"];
  for (const branch of branches) {
    await repository.commit({ "b.md": branch }, { branch });
  }
  const tree = await repository.git("rev-parse", "HEAD^{tree}");
  for (const name of ["both", "light", first]) {
    await repository.tag(name, { at: first });
  }
  await repository.tag("noted", { at: first, annotated: true });
  const nested = ["--annotate", "--message", "x", "nested", "refs/tags/noted"];
  await repository.git("tag", ...nested);
  await repository.git("update-ref", "refs/tags/tree", tree);
  for (const name of ["main", ...branches]) {
    const commit = await repository.head(name);
    assertEquals(await ask(name), found(`heads/${name}`, commit));
  }
  for (const name of ["light", "noted", "nested", first]) {
    assertEquals(await ask(name), found(`tags/${name}`, first), name);
  }
  // It cannot be distinguished from a tag on a commit.
  assertEquals(await ask("tree"), found("tags/tree", tree));
  for (const name of ["main-", "feature", "heads/main", "féé/𝒴", tree]) {
    assertEquals(await ask(name), missing, name);
  }
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
  state.redirect("octo/hop", "{git}/octo/site/git-upload-pack");
  assertEquals(await ask("main", { repo: "hop" }), {
    ...found("heads/main", await repository.head()),
    owner: "Other",
    repo: "New.Name",
  });
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
  const rows: { location: string; status?: number; folder?: string }[] = [
    { location: `http://localhost:${port}${good}` },
    { location: `https://127.0.0.1:${port}${good}` },
    { location: `${good}?a=b` },
    { location: "/octo/site.git/info/refs" },
    { location: "/octo/%2e%2e/git-upload-pack" },
    { location: good, status: 302 },
    // Out of the path of the host's address.
    { location: `/abc${good}`, folder: "/git" },
  ];
  for (const { location, status = 301, folder = "" } of rows) {
    bridge.requests.length = 0;
    bridge.intercept = () =>
      new Response(null, { status, headers: { location } });
    const gitUrl = bridge.url + folder;
    const outcome = await outcomeOf(served.ask("main", { gitUrl }));
    assertEquals([location, outcome], [location, "source-failed"]);
    assertEquals(bridge.requests.length, 1);
  }
});

Deno.test("lsRefs() takes a 200 of Git's type, and waits for a limit", async () => {
  await using served = await serve();
  const { bridge } = served;
  const given = (status: number, headers: HeadersInit) => {
    bridge.intercept = () =>
      new Response(answer(`${ID} refs/heads/main`), { status, headers });
    return served.ask();
  };
  const html = { "content-type": "text/html" };
  assertEquals(await outcomeOf(given(200, html)), "source-failed");
  const type = { "content-type": TYPE };
  assertEquals(await outcomeOf(given(206, type)), "source-failed");
  assertEquals(await outcomeOf(given(200, type)), "heads/main");
  bridge.intercept = endless(() => "a".repeat(60_000), { status: 401 }).respond;
  assertEquals(await served.ask(), null);
  const waits = { "0": 1000, "999999999999": 3_600_000, "soon": 3_600_000 };
  for (const [value, waitMs] of Object.entries(waits)) {
    const limited = given(429, { "retry-after": value });
    const error = await assertRejects(() => limited, CollectionsError);
    assertEquals(consequencesOf(error), { waitMs });
  }
});

Deno.test("lsRefs() names itself Git and the service", async () => {
  await using served = await serve();
  const names: (string | null)[] = [];
  served.bridge.intercept = ({ headers }) => {
    names.push(headers.get("user-agent"));
    return null;
  };
  await served.ask();
  assertEquals(names, ["git/2 (test)"]);
});

Deno.test("lsRefs() stops reading past the name", async () => {
  await using served = await serve();
  const first = [
    `${OTHER} HEAD symref-target:refs/heads/main`,
    `${ID} refs/heads/main`,
  ];
  const outcomes = { "main": "heads/main", "mai": null };
  for (const [name, outcome] of Object.entries(outcomes)) {
    const line = (n: number) => first[n] ?? `${ID} refs/tags/n${n}`;
    const { respond, state } = endless(line);
    served.bridge.intercept = respond;
    assertEquals(await outcomeOf(served.ask(name)), outcome);
    while (!state.isLeft) await turns();
    assert(state.bytes < 2 << 20, `${state.bytes}`);
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
  const lengths = ["0001", "0004", "00zz", "-001", "0x0a", "\0\0\0\0"];
  const unusable = [
    "",
    other,
    `${other}00`,
    `${main.slice(0, 30)}0000`,
    ...lengths.map((length) => `${length}${main}0000`),
    `fff1${"a".repeat(65_536)}0000`,
    "000eERR no way0000",
    answer(`${ID} refs/heads/ma\0in`),
    // The first version's advertisement.
    answer(`${ID} refs/heads/main\0multi_ack`),
    answer(`${ID.slice(1)} refs/heads/main`),
    answer(`${ID.padEnd(64, "0")} refs/heads/main`),
    answer(`${ID.toUpperCase()} refs/heads/main`),
    answer(`${ID} refs/heads/main peels:x`),
    answer("unborn refs/heads/main"),
    answer(`${ID} refs/heads/a`, `${OTHER} refs/heads/a`),
  ];
  const none = { found: null, hasHead: false, defaultBranch: null };
  const found = { candidate: "heads/main", commit: ID };
  const capitals = `${main.toUpperCase().slice(0, 4)}${main.slice(4)}`;
  const usable: { text: string; result: RefAnswer }[] = [
    { text: "0000", result: none },
    { text: `${capitals}0000 what follows`, result: { ...none, found } },
    {
      text: answer(`${OTHER} HEAD symref-target:refs/heads/x`),
      result: { ...none, hasHead: true, defaultBranch: "x" },
    },
    {
      text: answer("unborn HEAD symref-target:refs/heads/x"),
      result: { ...none, defaultBranch: "x" },
    },
  ];
  for (const isWhole of [true, false]) {
    for (const text of unusable) {
      assertThrows(
        () => search(text, isWhole),
        CollectionsError,
        undefined,
        text.slice(0, 99),
      );
    }
    for (const { text, result } of usable) {
      assertEquals(search(text, isWhole), result);
    }
  }
});
