// What GitHub no longer shows is not served, within 60 s, by any tier or
// process, whatever happens to GitHub afterwards, and also where GitHub failed
// before its denial was complete.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import type { LoggedRequest } from "../github/github_log.ts";
import { startSite } from "../site.ts";
import { freshnessOf } from "../http/freshness_of.ts";
import { turns } from "../test_clock.ts";
import { onTurns, useTicks } from "../work/time_slices.ts";
import { NAMED, type OpenedRefs, openRefs } from "./open_refs.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

async function renameMain({ git }: OpenedRefs) {
  await git.branch("other");
  await git.deleteBranch("main");
}

const removals: {
  code: string;
  remove: (opened: OpenedRefs) => unknown;
}[] = [
  {
    code: "repository-not-found",
    remove: ({ gh }) => gh.setVisibility("octo/site", "private"),
  },
  {
    code: "repository-blocked",
    remove: ({ gh }) => gh.get("octo/site").blocked = 451,
  },
  {
    code: "repository-empty",
    remove: ({ gh }) => gh.add("octo/site", null),
  },
  { code: "branch-not-found", remove: renameMain },
];

for (const { code, remove } of removals) {
  Deno.test(`nothing is served 60 s after it became ${code}`, async () => {
    await using opened = await openRefs(NAMED);
    const { clock, gh, start, outcome, cost } = opened;
    const second = start();
    for (const process of [opened, second]) await process.resolve();

    clock.advance(MINUTE_MS - 1);
    await remove(opened);
    assertEquals([await outcome(), await second.outcome()], ["fresh", "fresh"]);
    clock.advance(1);
    assertEquals(await outcome(), code);
    // The second process can only read it from the store: GitHub sends it
    // nothing.
    gh.fault = { kind: "status", status: 500 };
    assertEquals(await second.outcome(), code);
    const third = start();
    assertEquals(await third.outcome(), "source-failed");

    // The tombstone is valid for 60 s without a request, for every spelling,
    // which the problem repeats.
    clock.advance(MINUTE_MS - 1);
    const again = () =>
      assertRejects(
        () => opened.resolve({ repo: "SITE" }),
        CollectionsError,
        code === "branch-not-found" ? '"main"' : '"octo/SITE"',
      );
    assertEquals(await cost(again), []);
    clock.advance(HOUR_MS);
    assertEquals(await outcome(), "source-failed");
    assertEquals(await second.outcome(), code);
    gh.fault = null;
    clock.advance(MINUTE_MS);
    for (const process of [opened, second, third]) {
      assertEquals(await process.outcome(), code);
    }
  });
}

Deno.test("what a check ahead of need finds missing is not served", async () => {
  const env = { GITHUB_TOKEN: "t1" };
  await using site = await startSite({ "posts/a.md": "A\n" }, { env });
  const { gh, service } = site;
  await freshnessOf(site);
  gh.remove("octo/site");
  service.clock.advance(50_000);
  assertEquals((await freshnessOf(site))[0], "a");
  await service.services.everySecond();
  assertEquals(await freshnessOf(site), [404, "repository-not-found"]);
});

Deno.test("a tombstone of a repository covers all its refs", async () => {
  await using opened = await openRefs(NAMED);
  const { clock, gh, git, start } = opened;
  await git.branch("dev");
  const second = start();
  const alone = start({ kv: null });
  for (const process of [opened, second, alone]) await process.resolve();
  clock.advance(30_000);
  gh.get("octo/site").blocked = 451;
  for (const process of [opened, alone]) {
    assertEquals(
      await process.outcome({ branch: "dev" }),
      "repository-blocked",
    );
  }
  await gh.down();
  clock.advance(30_000);
  for (const process of [opened, second, alone]) {
    assertEquals(await process.outcome(), "repository-blocked");
  }
});

Deno.test("the refs of a lost repository are dropped one by one", async () => {
  await using opened = await openRefs(NAMED);
  const { clock, gh, use, outcome } = opened;
  const branches = Array.from({ length: 100 }, (_, n) => `b${n}`);
  await use(...branches);
  clock.advance(30_000);
  const repository = gh.get("octo/site");
  repository.blocked = 451;
  // Requested least recently, so it is the last one.
  const branch = "b0";
  let others = 0;
  let again: Promise<string> | null = null;
  /** The state is fresh until the denial has arrived. */
  const findAgain = async () => {
    let found = "fresh";
    while (found === "fresh") {
      await turns();
      found = await outcome({ branch });
    }
    return found;
  };
  {
    using _ticks = useTicks({ perLookMs: 5 });
    using _turns = onTurns(() => {
      others++;
      if (repository.blocked === null || gh.requests.at(-1)?.status !== 451) {
        return;
      }
      // It is found again before it is its turn.
      repository.blocked = null;
      again = findAgain();
    });
    assertEquals(await outcome({ branch: "dev" }), "repository-blocked");
  }
  assert(others >= branches.length, `${others}`);
  assertEquals(await again, "unchanged");
  assertEquals(await outcome({ branch }), "fresh");
  assertEquals(await outcome({ branch: "b1" }), "repository-blocked");
});

Deno.test("an earlier check that is written late undoes no tombstone", async () => {
  await using opened = await openRefs(NAMED);
  const { clock, gh, start, outcome, resolve } = opened;
  const { commit } = await resolve();
  clock.advance(55_000);
  const held = Promise.withResolvers<Response>();
  gh.intercept = () => held.promise;
  const late = start().resolve();
  await gh.log.until(() => gh.requests.length === 2);
  gh.intercept = null;
  await renameMain(opened);
  clock.advance(5_000);
  assertEquals(await outcome(), "branch-not-found");
  held.resolve(new Response(commit));
  assertEquals((await late).commit, commit);
  gh.fault = { kind: "status", status: 500 };
  assertEquals(await start().outcome(), "source-failed");
});

Deno.test("a repository that is there again is served again", async () => {
  await using opened = await openRefs(NAMED);
  const { clock, gh, start, outcome } = opened;
  const second = start();
  await Promise.all([outcome(), second.outcome()]);
  clock.advance(MINUTE_MS);
  gh.setVisibility("octo/site", "private");
  assertEquals(await outcome(), "repository-not-found");
  gh.setVisibility("octo/site", "public");
  clock.advance(MINUTE_MS);
  assertEquals([await outcome(), await second.outcome()], ["new", "unchanged"]);
  gh.fault = { kind: "status", status: 500 };
  clock.advance(MINUTE_MS);
  assertEquals(await start().outcome(), "stale");
});

Deno.test("a branch is missing only from a repository that is seen", async () => {
  const answers = {
    "branch-not-found": new Response("{}", { status: 500 }),
    "repository-not-found": Response.json({ private: true }),
  };
  for (const [code, answer] of Object.entries(answers)) {
    await using opened = await openRefs({ tokens: ["t1"] });
    const { clock, gh, outcome } = opened;
    await opened.resolve();
    clock.advance(MINUTE_MS);
    // A 304 says that it is public, and the next answer what it is now.
    gh.intercept = (request, { kind }) => {
      if (kind === "commit") return new Response("{}", { status: 404 });
      return request.headers.has("if-none-match") ? null : answer.clone();
    };
    assertEquals(await outcome(), code);
  }
});

type Answer = (request: LoggedRequest) => number | null;

/** GitHub answers from now on with these statuses; null is its real answer. */
function answerWith({ gh }: OpenedRefs, answer: Answer): void {
  gh.intercept = (_, request) => {
    const status = answer(request);
    return status === null ? null : new Response("{}", { status });
  };
}

/**
 * GitHub answers requests about refs with one status, those about the
 * repository with the other.
 */
const failing = (ref: number, repository: number): Answer => ({ kind }) =>
  kind === "commit" ? ref : repository;

/** The repository is seen; its branch has one status, its tag the other. */
const seen = (branch: number, tag: number): Answer => ({ kind, path }) => {
  if (kind === "repo") return null;
  return path.includes("/commits/heads%2F") ? branch : tag;
};

const denials: {
  name: string;
  tokens: string[];
  answer: Answer;
  code?: string;
}[] = [
  {
    name: "the branch is missing, its repository fails",
    tokens: [],
    answer: failing(404, 500),
  },
  {
    name: "the branch is missing, its tag fails",
    tokens: ["t1"],
    answer: seen(404, 500),
  },
  {
    name: "the repository is blocked, visibility fails",
    tokens: ["t1"],
    answer: failing(451, 500),
  },
  {
    name: "a deleted repository spends the quota",
    tokens: [],
    answer: failing(404, 429),
    code: "source-rate-limited",
  },
];

for (const { name, tokens, answer, code = "source-failed" } of denials) {
  Deno.test(`resolve() gives nothing older where ${name}`, async () => {
    await using opened = await openRefs({ tokens });
    const { clock, gh, start, outcome, resolve } = opened;
    const elsewhere = start();
    const [{ commit }] = await Promise.all([resolve(), elsewhere.resolve()]);
    answerWith(opened, answer);
    clock.advance(MINUTE_MS);
    assertEquals(await outcome(), code);
    await gh.down();
    for (const waitMs of [1, HOUR_MS]) {
      clock.advance(waitMs);
      for (const process of [opened, elsewhere, start()]) {
        await assertRejects(() => process.resolve(), CollectionsError);
      }
    }
    gh.up();
    gh.intercept = null;
    clock.advance(MINUTE_MS);
    assertEquals((await resolve()).commit, commit);
  });
}

Deno.test("a denial of one branch hides others only if it may", async () => {
  const rows: { tokens: string[]; answer: Answer; ofOther: string }[] = [
    // With a token the repository was seen, so the branch alone is lost.
    {
      tokens: ["t1"],
      answer: (request) =>
        request.path.includes("other") ? null : seen(404, 500)(request),
      ofOther: "stale",
    },
    { tokens: [], answer: failing(404, 500), ofOther: "source-failed" },
  ];
  for (const { tokens, answer, ofOther } of rows) {
    await using opened = await openRefs({ tokens });
    const { clock, gh, outcome } = opened;
    await opened.use("main", "other");
    answerWith(opened, answer);
    clock.advance(MINUTE_MS);
    assertEquals(await outcome(), "source-failed");
    await gh.down();
    clock.advance(MINUTE_MS);
    assertEquals(await outcome({ branch: "other" }), ofOther);
    assertEquals(await outcome(), "source-failed");
  }
});

Deno.test("resolve() takes no denial from an unknown form", async () => {
  await using opened = await openRefs();
  await opened.git.tag("v1");
  await opened.resolve({ branch: "v1" });
  answerWith(opened, ({ path }) => path.includes("tags%2F") ? 500 : null);
  opened.clock.advance(MINUTE_MS);
  assertEquals(await opened.outcome({ branch: "v1" }), "stale");
});
