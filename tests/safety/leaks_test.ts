// Canaries in everything that must stay inside, requests and faults of every
// kind, and a search through all that came out: every header and byte of every
// response, every line of the log.

import { assert, assertEquals } from "@std/assert";
import { CollectionsError, sourceFailed } from "../../lib/errors.ts";
import type { Fault } from "../github/github_faults.ts";
import {
  itemPath,
  listPath,
  type Parameters,
  type TestService,
} from "../service.ts";
import { startSite } from "../site.ts";

const TOKENS = ["ghp_canaryTokenOne", "github_pat_canaryTokenTwo"];
const FILES = {
  "posts/a.md": "---\ntitle: a\n---\n# A\n",
  "posts/b.md": "# B\n",
};
/** What a text of the runtime or of this machine would show. */
const TRACES = [
  /canary\w*/i,
  /\bat (async )?\S+ \(/,
  /file:\/\/|\/home\/|\/tmp\/|\/root\/|node_modules|ext:|node:/,
  /\.ts:\d+:\d+/,
  /TypeError|RangeError|SyntaxError|ZodError|CollectionsError/,
  /\b127\.0\.0\.1\b/,
];

const EVIL = {
  path: "../canaryEntry",
  mode: "100644",
  sha: "canarySha",
  size: 1,
};
const FAULTS: Fault[] = [
  ...[500, 404, 401, 403, 422, 451, 200].map((status): Fault => (
    { kind: "status", status, message: "canaryUpstreamBody" }
  )),
  {
    kind: "status",
    status: 302,
    headers: { location: "http://canary.test/canaryLocation" },
  },
  {
    kind: "status",
    status: 503,
    headers: { "retry-after": "canaryRetryAfter" },
  },
  ...([
    "quota403",
    "secondary429",
    "reset",
    "cut",
    "garbage",
    "html",
    "wrong-bytes",
  ] as const).map(
    (kind): Fault => ({ kind }),
  ),
  { kind: "evil-tree", entries: [EVIL] },
];

const DEBUG = { LOG_LEVEL: "debug" };
const SECRET_HEADERS = {
  "authorization": "Bearer canaryAuthorization",
  "cookie": "session=canaryCookie",
  "user-agent": "canaryAgent",
  "referer": "http://canary.test/canaryReferer",
  "origin": "http://canary.test",
  "if-none-match": '"canaryTag"',
  "x-forwarded-for": "canaryForwarded",
};

/**
 * Every kind of request, each time to another repository of the same files, so
 * that none is answered by a cache.
 */
function requests(owner: string): [string, RequestInit][] {
  const local = { owner: "local", repo: "blog" };
  const lists: Parameters[] = [
    {},
    { includeContent: true, token: "canaryQuery" },
    { sort: "-frontMatter.date", includeFrontMatter: true },
    { collection: "none" },
    { branch: "none" },
    {
      page: 0,
      limit: "nothing",
    },
    local,
  ];
  const items: Parameters[] = [
    { path: "posts/a.md" },
    { path: "posts/b.md", format: "raw" },
    {
      path: "none.md",
    },
    ...["blog", "unreadable"].map((repo) => ({
      ...local,
      repo,
      path: "posts/a.md",
    })),
  ];
  const others =
    "/api/health /api/health?ready /metrics /api/openapi.json /none /%zz";
  const paths = [
    ...lists.map((parameters) => listPath({ owner, ...parameters })),
    ...items.map((parameters) => itemPath({ owner, ...parameters })),
    ...others.split(" "),
    "/problems/source-failed",
  ];
  const inits = [{ method: "POST", body: "x" }, { method: "HEAD" }, {
    method: "OPTIONS",
  }];
  return [
    ...paths.map((path): [string, RequestInit] => [path, {}]),
    ...inits.map((init): [string, RequestInit] => [listPath({ owner }), init]),
  ];
}

/** All that a response shows, in one text. */
async function shown(
  service: TestService,
  path: string,
  init: RequestInit = {},
): Promise<string> {
  const response = await service.send(path, {
    ...init,
    headers: SECRET_HEADERS,
  });
  const headers = [...response.headers].map(([name, value]) =>
    `${name}: ${value}`
  ).join("\n");
  return `${response.status}\n${headers}\n\n${await response.text()}`;
}

function search(text: string, where: string): void {
  for (const trace of TRACES) {
    const at = text.search(trace);
    const around = text.slice(Math.max(0, at - 100), at + 100);
    assertEquals(at, -1, `${trace} in ${where}: …${around}…`);
  }
}

/** The log, without the classes of unexpected errors, which it may name. */
function logOf(service: TestService): string {
  return service.logText.replaceAll(/"error":"[A-Za-z]+"/g, "");
}

Deno.test("nothing inside reaches a response or the log", async () => {
  const root = await Deno.makeTempDir({ prefix: "canaryFolder" });
  const repos = `${root}/repos`;
  await Deno.mkdir(`${repos}/blog/posts`, { recursive: true });
  await Deno.mkdir(`${repos}/unreadable/posts`, { recursive: true });
  await Deno.writeTextFile(`${repos}/blog/posts/a.md`, "# A\n");
  await Deno.writeTextFile(`${repos}/blog/.env`, "canaryDotEnv");
  await Deno.symlink(`${root}/outside.md`, `${repos}/blog/posts/link.md`);
  await Deno.writeTextFile(`${root}/outside.md`, "canaryOutside");
  await Deno.chmod(`${repos}/unreadable/posts`, 0o000);
  const KV_PATH = `${root}/canaryStore.sqlite`;
  const kv = await Deno.openKv(KV_PATH);
  try {
    const paths = { KV_PATH, LOCAL_REPOS_DIR: repos, GITHUB_WEB_URL: "" };
    const options = { METRICS: "true", MISSES_PER_MINUTE: "0", ...DEBUG };
    const env = { GITHUB_TOKEN: TOKENS.join(), ...paths, ...options };
    await using site = await startSite(FILES, { kv, env });
    const { gh, service, repository } = site;
    let responses = 0;
    const sendAll = async (owner: string) => {
      gh.add(`${owner}/site`, repository);
      for (const [path, init] of requests(owner)) {
        search(await shown(service, path, init), `${owner} ${path}`);
        responses++;
      }
    };

    await sendAll("fine");
    for (const [index, fault] of FAULTS.entries()) {
      gh.fault = fault;
      await sendAll(`fault${index}`);
      service.clock.advance(3_700_000);
    }
    gh.fault = null;
    for (const token of TOKENS) gh.revokeToken(token);
    await sendAll("revoked");
    await gh.down();
    await sendAll("down");
    await Deno.remove(repos, { recursive: true });
    service.clock.advance(61_000);
    await sendAll("gone");
    kv.close();
    await sendAll("store");

    assert(responses > 400, `${responses} responses`);
    assertEquals(service.logLines("token refused").length, 2);
    assert(service.logLines("request failed").length > 50);
    search(logOf(service), "the log");
  } finally {
    await Deno.chmod(`${repos}/unreadable/posts`, 0o700).catch(() => {});
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("an error shows its code and sentence only", async () => {
  const message = 'Cannot read "canaryMessage": canaryState';
  const cause = new TypeError("canaryCause");
  const errors: unknown[] = [
    sourceFailed(message, { cause }),
    new CollectionsError("repository-not-found", "It is not here.", {
      message,
      cause,
    }),
    new TypeError("canaryMessage", { cause }),
    { status: 404, code: "canaryCode", toString: () => "canaryText" },
    null,
  ];
  for (const error of errors) {
    await using site = await startSite(FILES, { env: DEBUG });
    const { service } = site;
    service.services.sourceOf("octo").resolve = () => Promise.reject(error);

    const text = await shown(service, itemPath({ path: "posts/a.md" }));

    search(text, "the response");
    if (error instanceof CollectionsError) {
      assert(text.includes(`"code":"${error.code}"`), text);
      assert(text.includes(`"detail":"${error.detail}"`), text);
      const lines = service.logLines("request failed").map((
        { code, reason },
      ) => [code, reason]);
      assertEquals(
        lines,
        error.code === "repository-not-found" ? [] : [[error.code, message]],
      );
      search(
        service.logText.replaceAll(JSON.stringify(message), ""),
        "the log",
      );
    } else {
      assert(text.includes('"code":"internal-error"'), text);
      assertEquals(service.logLines("internal error").length, 1);
      search(logOf(service), "the log");
    }
  }
});

Deno.test("an item's error has its code, and nothing of its reason", async () => {
  const message = "canaryMessage";
  const failures = [
    new CollectionsError("repository-not-found", "canaryDetail", { message }),
    new TypeError(message),
  ];
  for (const failure of failures) {
    await using site = await startSite(FILES, { env: DEBUG });
    const { service } = site;
    service.services.sourceOf("octo").blobs = (_snapshot, files) =>
      Promise.resolve(new Map(files.map(({ id }) => [id, failure])));
    for (const included of ["includeContent", "includeFrontMatter"]) {
      const text = await shown(service, listPath({ [included]: true }));
      assert(text.includes('"code":"source-failed"'), text);
      search(text, "the page");
    }
    search(logOf(service), "the log");
  }
});
