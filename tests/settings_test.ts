// Settings: each variable's default, its bounds, and the one line that names a
// bad one.

import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  type Config,
  parseSettings,
  SETTING_NAMES,
  SettingsError,
} from "../lib/settings.ts";

function parse(env: Record<string, string>): Config {
  return parseSettings((name) => env[name]);
}

// The other defaults are those of the table in docs/operations.md: docs_test.ts
// compares them.
Deno.test("parseSettings() takes an empty value for unset", () => {
  const defaults = parse({});
  assertEquals(parseSettings(() => " "), defaults);
  assertEquals(defaults.github, {
    apiUrl: "https://api.github.com",
    graphqlUrl: "https://api.github.com/graphql",
    rawUrl: "https://raw.githubusercontent.com",
    webUrl: "https://github.com",
    gitUrl: "https://github.com",
  });
  assertEquals(
    [defaults.allowedRepos, defaults.localReposDir, defaults.tokens],
    [
      null,
      undefined,
      [],
    ],
  );
});

const OF_APP = [
  "GITHUB_APP_ID",
  "GITHUB_APP_PRIVATE_KEY",
  "GITHUB_APP_PRIVATE_KEY_FILE",
] as const;
const OF_GITHUB = ["API", "GRAPHQL", "RAW", "WEB", "GIT"].map((name) =>
  `GITHUB_${name}_URL`
);
const GOOD: readonly [
  name: string,
  value: string,
  key: keyof Config,
  read: unknown,
][] = [
  ["PORT", "0", "port", 0],
  ["PORT", "65535", "port", 65_535],
  ["HOST", "::1", "host", "::1"],
  ["PUBLIC_URL", "https://a.test/b/", "publicUrl", "https://a.test/b"],
  ["PUBLIC_URL", "http://a.test:81", "publicUrl", "http://a.test:81"],
  ["GITHUB_TOKEN", " a , b ,", "tokens", ["a", "b"]],
  ["GITHUB_TOKEN_FILE", "data/tokens", "tokenFile", "data/tokens"],
  ["GITHUB_WEBHOOK_SECRET", "It's a Secret, b", "webhookSecrets", [
    "It's a Secret",
    "b",
  ]],
  ["CACHE_PURGE", "varnish:http://cache:6081", "cachePurge", [
    "varnish:http://cache:6081",
  ]],
  ["SHARED_MAX_AGE", "0", "sharedMaxAge", 0],
  ["ALLOWED_REPOS", "A/b, c/*", "allowedRepos", new Set(["a/b", "c/*"])],
  ["LOCAL_REPOS_DIR", "none", "localReposDir", null],
  ["LOCAL_REPOS_DIR", "/srv", "localReposDir", "/srv"],
  ["KV_PATH", ":memory:", "kvPath", ":memory:"],
  ["KV_WRITE_MB_PER_HOUR", "0", "kvWriteBytesPerHour", 0],
  ["CACHE_MEMORY_MB", "1", "cacheMemoryBytes", 1 << 20],
  ["MAX_ITEM_MB", "1", "maxItemBytes", 1 << 20],
  ["SOURCE_TIMEOUT_MS", "1", "sourceTimeoutMs", 1],
  ["SHUTDOWN_DELAY_MS", "5000", "shutdownDelayMs", 5000],
  ["MISSES_PER_MINUTE", "0", "missesPerMinute", 0],
  [
    "CORS_ORIGINS",
    "https://a.test, http://b.test:81",
    "corsOrigins",
    new Set([
      "https://a.test",
      "http://b.test:81",
    ]),
  ],
  ["REQUIRE_PUBLISHED", "true", "requirePublished", true],
  ["METRICS", "true", "metrics", true],
  ["TRUST_PROXY", "1", "trustProxy", true],
  ["TRUST_PROXY", "0", "trustProxy", false],
  ["LOG_LEVEL", "silent", "logLevel", "silent"],
  ["LOG_CLIENTS", "hash", "logClients", "hash"],
];

Deno.test("parseSettings() reads good values", () => {
  for (const [name, value, key, read] of GOOD) {
    assertEquals([name, parse({ [name]: value })[key]], [name, read]);
  }
  const names = [
    ...GOOD.map(([name]) => name),
    ...OF_GITHUB,
    ...OF_APP,
    "CACHE_PURGE_TOKEN",
  ];
  assertEquals(new Set(names), new Set(SETTING_NAMES));
});

Deno.test("parseSettings() takes a GitHub App with one key only", () => {
  const [id, key, file] = OF_APP;
  const { appId, appPrivateKey } = parse({ [id]: "4711", [key]: "PEM" });
  assertEquals([appId, appPrivateKey], ["4711", "PEM"]);
  assertEquals(
    parse({ [id]: "Iv23.ab", [file]: "./key.pem" }).appPrivateKeyFile,
    "./key.pem",
  );
  const rows: [named: string, env: Record<string, string>][] = [
    [id, { [id]: "1" }],
    [key, { [key]: "canary" }],
    [file, { [file]: "canary" }],
    [id, { [id]: "1", [key]: "canary", GITHUB_TOKEN: "canary" }],
    [id, { [id]: "1", [key]: "canary", GITHUB_TOKEN_FILE: "canary" }],
    [file, { [id]: "1", [key]: "canary", [file]: "canary" }],
    ["GITHUB_TOKEN_FILE", {
      GITHUB_TOKEN: "canary",
      GITHUB_TOKEN_FILE: "canary",
    }],
    [id, { [id]: "4 7", [key]: "canary" }],
  ];
  for (const [named, env] of rows) {
    const { message } = assertThrows(() => parse(env), SettingsError);
    assert(message.startsWith(`Cannot start with "${named}": must `), message);
    assert(!message.includes("canary"), message);
  }
});

Deno.test("parseSettings() takes one token a cache but Varnish", () => {
  const two = "fastly:abc, varnish:http://c.test, url:https://u.test/purge";
  const parsed = parse({ CACHE_PURGE: two, CACHE_PURGE_TOKEN: "a,b" });
  assertEquals(parsed.cachePurgeTokens, ["a", "b"]);
  const rows: [caches: string, tokens: string][] = [
    [two, ""],
    [two, "canary"],
    [two, "canary,b,c"],
    ["varnish:http://c.test", "canary"],
    ["", "canary"],
  ];
  for (const [caches, tokens] of rows) {
    const { message } = assertThrows(
      () => parse({ CACHE_PURGE: caches, CACHE_PURGE_TOKEN: tokens }),
      SettingsError,
    );
    assert(message.startsWith('Cannot start with "CACHE_PURGE_TOKEN": must'));
    assert(!message.includes("canary"), message);
  }
});

const BAD: Record<string, readonly string[]> = {
  PORT: ["65536", "-1", "http", "80.5", "1e3", "0x50"],
  PUBLIC_URL: [
    "h.test",
    "ftp://h",
    "https://u@h",
    "https://h?q",
    "https://h#x",
    "https://",
    "https://h?",
    "https://h/#",
  ],
  GITHUB_API_URL: ["api.test", "javascript:1", "file:///etc"],
  GITHUB_GRAPHQL_URL: ["/graphql"],
  GITHUB_RAW_URL: ["none"],
  GITHUB_WEB_URL: ["https://user:canarySecret@a.test"],
  GITHUB_GIT_URL: ["git.test", "ssh://git.test", "NONE"],
  GITHUB_WEBHOOK_SECRET: ["canary\u0000Secret", ","],
  GITHUB_TOKEN: ["canary Secret", "a,canary\u00e9Secret"],
  CACHE_PURGE: [
    "http://cache:6081",
    "varnish:cache:6081",
    "varnish:http://user:canary@cache",
    "url:http://a:99999",
    "fastly:",
    "cloudflare:a/b",
    ",",
  ],
  SHARED_MAX_AGE: ["-1", "61", "1m"],
  ALLOWED_REPOS: [
    "owner",
    "a/b/c",
    "*/b",
    "*",
    "a/b c",
    "https://github.com/a/b",
    ",",
    "a/",
  ],
  KV_PATH: [
    "http://",
    "https://a b/",
    "https://h:99999/",
    "ftp://h",
    "file:///data/kv",
  ],
  KV_WRITE_MB_PER_HOUR: ["-1", "x"],
  CACHE_MEMORY_MB: ["0", "1.5", "65537"],
  MAX_ITEM_MB: ["0", "101"],
  SOURCE_TIMEOUT_MS: ["0", "10s", "600001"],
  SHUTDOWN_DELAY_MS: ["-1", "10s", "600001"],
  MISSES_PER_MINUTE: ["-1", "many"],
  CORS_ORIGINS: [
    "*",
    "null",
    "a.test",
    "https://a.test/",
    "https://a.test/blog",
    "https://*.test",
    "ftp://a.test",
    ",",
  ],
  METRICS: ["yes"],
  TRUST_PROXY: ["on", "TRUE"],
  LOG_LEVEL: ["trace", "INFO"],
  REQUIRE_PUBLISHED: ["yes"],
  LOG_CLIENTS: ["ip", "true"],
};

Deno.test("parseSettings() stops at a bad value and names it", () => {
  for (const [name, values] of Object.entries(BAD)) {
    for (const value of values) {
      const { message: line } = assertThrows(
        () => parse({ [name]: value }),
        SettingsError,
      );
      assert(
        line.startsWith(`Cannot start with "${name}": must `),
        `${value}: ${line}`,
      );
      assert(!line.includes("\n") && !line.includes("canary"), line);
    }
  }
});

Deno.test("parseSettings() derives addresses from GITHUB_API_URL", () => {
  const none = { rawUrl: null, webUrl: null, gitUrl: null };
  const enterprise = "https://git.test/api";
  assertEquals(parse({ GITHUB_API_URL: `${enterprise}/v3/` }).github, {
    apiUrl: `${enterprise}/v3`,
    graphqlUrl: `${enterprise}/graphql`,
    ...none,
  });
  const other = {
    apiUrl: "http://127.0.0.1:1",
    graphqlUrl: "http://127.0.0.1:1/graphql",
  };
  assertEquals(parse({ GITHUB_API_URL: other.apiUrl }).github, {
    ...other,
    ...none,
  });
  const own = {
    GITHUB_GRAPHQL_URL: "https://g.test/q",
    GITHUB_RAW_URL: "https://r.test/",
    GITHUB_WEB_URL: "https://w.test",
  };
  const { github } = parse({ GITHUB_API_URL: other.apiUrl, ...own });
  assertEquals([github.graphqlUrl, github.rawUrl], [
    "https://g.test/q",
    "https://r.test",
  ]);
  assertEquals([github.webUrl, github.gitUrl], [
    "https://w.test",
    "https://w.test",
  ]);
  assertEquals(parse({ GITHUB_GIT_URL: "none" }).github.gitUrl, null);
  assertEquals(
    parse({ GITHUB_GIT_URL: "https://v.test/" }).github.gitUrl,
    "https://v.test",
  );
});
