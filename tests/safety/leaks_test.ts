// Canaries in everything that must stay inside, requests and faults of every kind, and a search through all that came
// out: every header and byte of every response, every line of the log.

import { assert, assertEquals } from "@std/assert";
import {
  CollectionsError,
  sourceFailed,
  sourceRateLimited,
  sourceTimeout,
} from "../../lib/errors.ts";
import type { BlobResult } from "../../lib/source/source.ts";
import { SETTING_NAMES } from "../../lib/settings.ts";
import type { Fault } from "../github/github_faults.ts";
import { itemPath, listPath, type TestService } from "../service.ts";
import { startSite } from "../site.ts";

const TOKENS = ["ghp_canaryTokenOne", "github_pat_canaryTokenTwo"];
const FILES = { "posts/a.md": "---\ntitle: a\n---\n# A\n", "posts/b.md": "# B\n" };
/** What a text of the runtime or of this machine would show. */
const TRACES = [
  /canary\w*/i,
  /\bat (async )?\S+ \(/,
  /file:\/\//,
  /\/work\/|\/home\/|\/tmp\/|\/root\//,
  /node_modules|ext:|node:/,
  /\.ts:\d+:\d+/,
  /TypeError|RangeError|SyntaxError|ZodError|CollectionsError/,
  /\b127\.0\.0\.1\b/,
];

const FAULTS: Fault[] = [
  { kind: "status", status: 500, message: "canaryUpstreamBody" },
  { kind: "status", status: 404, message: "canaryUpstreamBody" },
  { kind: "status", status: 401, message: "canaryUpstreamBody" },
  { kind: "status", status: 403, message: "canaryUpstreamBody" },
  { kind: "status", status: 422, message: "canaryUpstreamBody" },
  { kind: "status", status: 451, message: "canaryUpstreamBody" },
  { kind: "status", status: 200, message: "canaryUpstreamBody" },
  { kind: "status", status: 302, headers: { location: "http://canary.test/canaryLocation" } },
  { kind: "status", status: 503, headers: { "retry-after": "canaryRetryAfter" } },
  { kind: "quota403" },
  { kind: "secondary429" },
  { kind: "reset" },
  { kind: "cut" },
  { kind: "garbage" },
  { kind: "html" },
  { kind: "wrong-bytes" },
  {
    kind: "evil-tree",
    entries: [{ path: "../canaryEntry", mode: "100644", sha: "canarySha", size: 1 }],
  },
];

const SECRET_HEADERS = {
  "authorization": "Bearer canaryAuthorization",
  "cookie": "session=canaryCookie",
  "user-agent": "canaryAgent",
  "referer": "http://canary.test/canaryReferer",
  "origin": "http://canary.test",
  "if-none-match": '"canaryTag"',
  "x-forwarded-for": "canaryForwarded",
};

/** Every kind of request, each time about another repository of the same files, so that all of them go all the way. */
function requests(owner: string): [string, RequestInit][] {
  const given = { owner };
  const paths = [
    listPath(given),
    listPath({ ...given, includeContent: true }),
    listPath({ ...given, sort: "-frontMatter.date", includeFrontMatter: true }),
    listPath({ ...given, collection: "none" }),
    listPath({ ...given, branch: "none" }),
    listPath({ ...given, page: 0, limit: "canaryless" }),
    itemPath({ ...given, path: "posts/a.md" }),
    itemPath({ ...given, path: "posts/b.md", format: "raw" }),
    itemPath({ ...given, path: "none.md" }),
    listPath({ owner: "local", repo: "blog" }),
    itemPath({ owner: "local", repo: "blog", path: "posts/a.md" }),
    itemPath({ owner: "local", repo: "unreadable", path: "posts/a.md" }),
    "/api/health",
    "/api/health?ready",
    "/metrics",
    "/api/openapi.json",
    "/problems/source-failed",
    "/none",
    "/%zz",
  ];
  return [
    ...paths.map((path): [string, RequestInit] => [path, {}]),
    [listPath(given), { method: "POST", body: "x" }],
    [listPath(given), { method: "HEAD" }],
    [listPath(given), { method: "OPTIONS" }],
  ];
}

/** All that a response shows, in one text. */
async function shown(service: TestService, path: string, init: RequestInit): Promise<string> {
  const response = await service.send(path, { ...init, headers: SECRET_HEADERS });
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  return `${response.status}\n${headers}\n\n${await response.text()}`;
}

function search(text: string, where: string): void {
  for (const trace of TRACES) {
    const found = text.match(trace);
    if (found === null) continue;
    const at = Math.max(0, found.index! - 100);
    throw new Error(`${trace} in ${where}: …${text.slice(at, found.index! + 100)}…`);
  }
}

Deno.test("nothing inside reaches a response or the log, whatever is asked and whatever fails", async () => {
  const root = await Deno.makeTempDir({ prefix: "canaryFolder" });
  await Deno.mkdir(`${root}/repos/blog/posts`, { recursive: true });
  await Deno.mkdir(`${root}/repos/unreadable/posts`, { recursive: true });
  await Deno.writeTextFile(`${root}/repos/blog/posts/a.md`, "# A\n");
  await Deno.writeTextFile(`${root}/repos/blog/.env`, "canaryDotEnv");
  await Deno.symlink(`${root}/outside.md`, `${root}/repos/blog/posts/link.md`);
  await Deno.writeTextFile(`${root}/outside.md`, "canaryOutside");
  await Deno.chmod(`${root}/repos/unreadable/posts`, 0o000);
  Deno.env.set("CANARY_VARIABLE", "canaryEnvironment");
  const kv = await Deno.openKv(`${root}/canaryStore.sqlite`);
  try {
    await using site = await startSite(FILES, {
      kv,
      env: {
        GITHUB_TOKEN: TOKENS.join(),
        LOCAL_REPOS_DIR: `${root}/repos`,
        KV_PATH: `${root}/canaryStore.sqlite`,
        MISSES_PER_MINUTE: "0",
        METRICS: "true",
        LOG_LEVEL: "debug",
        GITHUB_WEB_URL: "",
      },
    });
    const { gh, service, repository } = site;
    let responses = 0;
    const ask = async (owner: string) => {
      gh.add(`${owner}/site`, repository);
      for (const [path, init] of requests(owner)) {
        // The address of the test's own GitHub is no secret, but nothing of it should be seen either.
        search(await shown(service, path, init), `${owner} ${path}`);
        responses++;
      }
    };
    for (const token of TOKENS) gh.addToken(token, { sees: "all" });

    await ask("fine");
    for (const [index, fault] of FAULTS.entries()) {
      gh.fault = fault;
      await ask(`fault${index}`);
      service.clock.advance(3_700_000);
      await ask("fine");
    }
    gh.fault = null;
    service.clock.advance(3_700_000);
    for (const token of TOKENS) gh.revokeToken(token);
    await ask("revoked");
    await gh.down();
    await ask("down");
    await Deno.remove(`${root}/repos`, { recursive: true });
    service.clock.advance(61_000);
    await ask("gone");
    kv.close();
    await ask("store");

    const log = service.logText;
    assert(responses > 800, `${responses} responses`);
    assertEquals(service.logLines("token refused").length, 2);
    assert(service.logLines("request failed").length > 50);
    // The class of an unexpected error may be logged, and a line of this project.
    search(log.replaceAll(/"error":"[A-Za-z]+"/g, ""), "the log");
  } finally {
    Deno.env.delete("CANARY_VARIABLE");
    await Deno.chmod(`${root}/repos/unreadable/posts`, 0o700).catch(() => {});
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("an unexpected error shows its request's id, and nothing of itself", async () => {
  const thrown: unknown[] = [
    new TypeError("canaryMessage", { cause: new Error("canaryCause") }),
    Object.assign(new Error("canaryMessage"), { status: 404, code: "canaryCode" }),
    "canaryText",
    { canary: "canaryObject", toString: () => "canaryText" },
    null,
    undefined,
  ];
  for (const error of thrown) {
    await using site = await startSite(FILES, {
      env: { LOG_LEVEL: "debug" },
      change: (services) => ({
        ...services,
        sourceOf() {
          throw error;
        },
      }),
    });
    const text = await shown(site.service, listPath(), {});

    assert(text.includes('"code":"internal-error"'));
    search(text, "the response");
    search(site.service.logText.replaceAll(/"error":"[A-Za-z]+"/g, ""), "the log");
    assertEquals(site.service.logLines("internal error").length, 1);
  }
});

Deno.test("an error that a caller is told of keeps its message for the log, and its cause for nobody", async () => {
  const message = 'Cannot read "canaryMessage": canaryState';
  const cause = new TypeError("canaryCause");
  const errors = [
    sourceFailed(message, { cause }),
    sourceTimeout(message),
    sourceRateLimited(message, 60),
    new CollectionsError("repository-not-found", "It is not here.", { message, cause }),
    new CollectionsError("internal-error", "It is broken.", { message, cause }),
  ];
  for (const error of errors) {
    await using site = await startSite(FILES, { env: { LOG_LEVEL: "debug" } });
    const { service } = site;
    service.services.sourceOf("octo").resolve = () => Promise.reject(error);
    const paths = [
      listPath(),
      listPath({ includeContent: true }),
      itemPath({ path: "posts/a.md" }),
    ];
    for (const path of paths) {
      const text = await shown(service, path, {});
      assert(text.includes(`"code":"${error.code}"`), text);
      assert(text.includes(`"detail":"${error.detail}"`), text);
      search(text, `the response to ${path}`);
    }

    const lines = service.logLines("request failed");
    const logged = lines.map(({ time: _, level: __, event: ___, id: ____, ...rest }) => rest);
    const expected = error.code === "repository-not-found" ? [] : paths;
    assertEquals(logged, expected.map(() => ({ code: error.code, reason: message })));
    search(service.logText.replaceAll(JSON.stringify(message), ""), "the log");
  }
});

Deno.test("an item's error tells its code, and nothing that was noted of why", async () => {
  const failures = [
    sourceFailed("canaryMessage", { cause: new Error("canaryCause") }),
    new CollectionsError("repository-not-found", "canaryDetail", { message: "canaryMessage" }),
    new TypeError("canaryMessage"),
  ];
  for (const failure of failures) {
    await using site = await startSite(FILES, { env: { LOG_LEVEL: "debug" } });
    const { service } = site;
    service.services.sourceOf("octo").blobs = (_snapshot, files) =>
      Promise.resolve(new Map(files.map(({ id }): [string, BlobResult] => [id, failure])));
    for (const included of ["includeContent", "includeFrontMatter"]) {
      const text = await shown(service, listPath({ [included]: true }), {});
      assert(text.includes('"code":"source-failed"'), text);
      search(text, "the page");
    }
    search(service.logText, "the log");
  }
});

Deno.test("a setting that stops the start tells its name, and no other setting", async () => {
  const { parseSettings, SettingsError } = await import("../../lib/settings.ts");
  for (const name of SETTING_NAMES) {
    const env: Record<string, string> = { GITHUB_TOKEN: "ghp_canaryToken" };
    try {
      parseSettings((asked) => asked === name ? "\u0001 not a value" : env[asked]);
    } catch (error) {
      assert(error instanceof SettingsError);
      assert(error.message.includes(`"${name}"`), error.message);
      assert(!/canary|not a value/.test(error.message), error.message);
    }
  }
});
