// What GitHub no longer shows is not served, within 60 s, by any tier or
// process, whatever happens to GitHub afterwards, and also where GitHub failed
// before its denial was complete.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import type { GitRepository } from "../github/git_repository.ts";
import type { GithubDouble } from "../github/github_double.ts";
import type { LoggedRequest } from "../github/github_log.ts";
import { openFile } from "../kv_connect/shared_stores.ts";
import {
  itemPath,
  listPath,
  startService,
  type TestService,
} from "../service.ts";
import { startSite } from "../site.ts";
import { NAMED, type OpenedRefs, openRefs } from "./open_refs.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const SILENT = { LOG_LEVEL: "silent" };

type Host = { readonly gh: GithubDouble; readonly git: GitRepository };

const removals: [
  name: string,
  code: string,
  remove: (host: Host) => unknown,
][] = [
  ["deleted", "repository-not-found", ({ gh }) => gh.remove("octo/site")],
  [
    "made private",
    "repository-not-found",
    ({ gh }) => gh.setVisibility("octo/site", "private"),
  ],
  [
    "blocked by its terms",
    "repository-blocked",
    ({ gh }) => gh.get("octo/site").blocked = 403,
  ],
  [
    "blocked by law",
    "repository-blocked",
    ({ gh }) => gh.get("octo/site").blocked = 451,
  ],
  ["emptied", "repository-empty", ({ gh }) => gh.add("octo/site", null)],
  ["without its branch", "branch-not-found", async ({ git }) => {
    await git.branch("other");
    await git.deleteBranch("main");
  }],
];

const PATHS = [
  listPath(),
  listPath({ includeContent: true }),
  itemPath({ path: "posts/a.md" }),
  itemPath({ path: "posts/a.md", format: "raw" }),
];

/** The different answers to all paths: 200, or the code of a problem. */
async function answers(service: TestService): Promise<(number | string)[]> {
  const found = await Promise.all(PATHS.map(async (path) => {
    const response = await service.get(path);
    return response.status === 200
      ? 200
      : (await response.json()).code as string;
  }));
  return [...new Set(found)];
}

for (const [name, code, remove] of removals) {
  Deno.test(`a repository ${name} is not served after 60 s`, async () => {
    await using store = await openFile();
    // A tombstone is written whatever was written before.
    const env = { ...SILENT, KV_WRITE_MB_PER_HOUR: "0" };
    await using site = await startSite({ "posts/a.md": "" }, {
      env,
      kv: await store.open(),
    });
    const { gh, repository: git, service } = site;
    const { clock } = service;
    const start = async () =>
      await startService({
        env: SILENT,
        github: gh,
        clock,
        kv: await store.open(),
      });
    await using second = await start();
    for (const process of [service, second]) {
      assertEquals(await answers(process), [200]);
    }

    clock.advance(MINUTE_MS - 1);
    await remove({ gh, git });
    for (const process of [service, second]) {
      assertEquals(await answers(process), [200]);
    }
    clock.advance(1);
    assertEquals(await answers(service), [code]);
    // The second process can only read it from the store: GitHub sends it
    // nothing.
    gh.fault = { kind: "status", status: 500 };
    assertEquals(await answers(second), [code]);
    await using third = await start();
    assertEquals(
      await answers(third),
      ["source-failed"],
      "nothing is left to be given",
    );

    // The tombstone is valid for 60 s without a request, for every spelling,
    // which the problem repeats.
    clock.advance(MINUTE_MS - 1);
    gh.resetCounts();
    const { code: again, detail } = await service.problem(
      listPath({ repo: "SITE" }),
    );
    assertEquals([again, gh.counts()], [code, {}]);
    assert(
      detail.includes(code === "branch-not-found" ? '"main"' : '"octo/SITE"'),
      detail,
    );
    clock.advance(1);
    for (const waitMs of [0, HOUR_MS]) {
      clock.advance(waitMs);
      assertEquals([await answers(service), await answers(second)], [[
        "source-failed",
      ], [code]]);
    }
    gh.fault = null;
    clock.advance(MINUTE_MS);
    for (const process of [service, second, third]) {
      assertEquals(await answers(process), [code]);
    }
  });
}

Deno.test("what a check ahead of need finds missing is not served", async () => {
  const env = { ...SILENT, GITHUB_TOKEN: "t1" };
  await using site = await startSite({ "posts/a.md": "A\n" }, { env });
  const { gh, service } = site;
  assertEquals(await answers(service), [200]);
  gh.remove("octo/site");
  service.clock.advance(50_000);
  assertEquals(await answers(service), [200]);
  await service.services.refreshDue();
  assertEquals(await answers(service), ["repository-not-found"]);
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

Deno.test("an earlier check that is written late undoes no tombstone", async () => {
  await using opened = await openRefs(NAMED);
  const { clock, gh, git, start, outcome, resolve } = opened;
  const { commit } = await resolve();
  clock.advance(55_000);
  const held = Promise.withResolvers<Response>();
  gh.intercept = () => held.promise;
  const late = start().resolve();
  await gh.log.until(() => gh.requests.length === 2);
  gh.intercept = null;
  await git.branch("other");
  await git.deleteBranch("main");
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
  for (const process of [opened, second, start()]) {
    assertEquals(await process.outcome(), "stale");
  }
});

Deno.test("nothing is written for refs that never were there", async () => {
  await using opened = await openRefs(NAMED);
  for (const query of [{ branch: "absent" }, { repo: "absent" }]) {
    await opened.outcome(query);
  }
  assertEquals(await Array.fromAsync(opened.store.kv.list({ prefix: [] })), []);
});

Deno.test("a missing branch names the default one", async () => {
  await using opened = await openRefs({ tokens: ["t1"] });
  const { clock, gh, git, outcome, resolve } = opened;
  await git.branch("dev");
  for (const branch of ["main", "dev"]) await resolve({ branch });
  await git.deleteBranch("dev");
  gh.fault = { kind: "status", status: 404, only: ["commit"] };
  clock.advance(MINUTE_MS);
  const missing = await assertRejects(
    () => resolve({ branch: "dev" }),
    CollectionsError,
    '"main"',
  );
  assertEquals(missing.code, "branch-not-found");

  const answers = [
    [new Response("{}", { status: 500 }), "branch-not-found"],
    [Response.json({ private: true }), "repository-not-found"],
  ] as const;
  for (const [answer, code] of answers) {
    gh.intercept = (request, { kind }) => {
      if (kind === "commit") return new Response("{}", { status: 404 });
      return request.headers.has("if-none-match") ? null : answer.clone();
    };
    assertEquals(await outcome({ branch: "main" }), code);
    gh.intercept = null;
    gh.fault = null;
    clock.advance(MINUTE_MS);
    await resolve({ branch: "main" });
    clock.advance(MINUTE_MS);
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

const denials: [
  name: string,
  tokens: string[],
  answer: Answer,
  code: string,
][] = [
  [
    "the branch is missing, its repository fails",
    [],
    failing(404, 500),
    "source-failed",
  ],
  [
    "the branch is missing, its tag fails",
    ["t1"],
    seen(404, 500),
    "source-failed",
  ],
  [
    "the repository is blocked, visibility fails",
    ["t1"],
    failing(451, 500),
    "source-failed",
  ],
  [
    "a deleted repository spends the quota",
    [],
    failing(404, 429),
    "source-rate-limited",
  ],
];

for (const [name, tokens, answer, code] of denials) {
  Deno.test(`resolve() gives nothing older where ${name}`, async () => {
    await using opened = await openRefs({ tokens });
    const { clock, gh, start, outcome, resolve } = opened;
    const elsewhere = start();
    const [{ commit }] = await Promise.all([resolve(), elsewhere.resolve()]);
    answerWith(opened, answer);
    clock.advance(MINUTE_MS);
    assertEquals(await outcome(), code);
    await gh.down();
    for (const waitMs of [1, MINUTE_MS, HOUR_MS]) {
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
  const rows: [tokens: string[], answer: Answer, ofOther: string][] = [
    // With a token the repository was seen, so the branch alone is lost.
    [
      ["t1"],
      (request) =>
        request.path.includes("other") ? null : seen(404, 500)(request),
      "stale",
    ],
    [[], failing(404, 500), "source-failed"],
  ];
  for (const [tokens, answer, ofOther] of rows) {
    await using opened = await openRefs({ tokens });
    const { clock, gh, outcome } = opened;
    await opened.use("main", "other");
    answerWith(opened, answer);
    clock.advance(MINUTE_MS);
    assertEquals(await outcome(), "source-failed");
    await gh.down();
    clock.advance(MINUTE_MS);
    assertEquals([await outcome({ branch: "other" }), await outcome()], [
      ofOther,
      "source-failed",
    ]);
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
