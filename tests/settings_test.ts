// Settings: each variable's default, its bounds, and the one line that names a
// bad one.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { type Config, parseSettings, SettingsError } from "../lib/settings.ts";

function parse(env: Record<string, string>): Config {
  return parseSettings((name) => env[name]);
}

/** Fails unless one line names the setting, and says nothing of a canary. */
function assertRefused(env: Record<string, string>, named: string): void {
  const { message } = assertThrows(() => parse(env), SettingsError);
  assert(message.startsWith(`Cannot start with "${named}": must `), message);
  assert(!/\n|canary/.test(message), message);
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
});

const OF_APP = [
  "GITHUB_APP_ID",
  "GITHUB_APP_PRIVATE_KEY",
  "GITHUB_APP_PRIVATE_KEY_FILE",
] as const;
// The other settings are read by the tests of what they set.
const GOOD: readonly {
  name: string;
  value: string;
  key: keyof Config;
  read: unknown;
}[] = [
  {
    name: "PUBLIC_URL",
    value: "https://a.test/b/",
    key: "publicUrl",
    read: "https://a.test/b",
  },
  { name: "GITHUB_TOKEN", value: " a , b ,", key: "tokens", read: ["a", "b"] },
  {
    name: "GITHUB_WEBHOOK_SECRET",
    value: "It's a Secret, b",
    key: "webhookSecrets",
    read: ["It's a Secret", "b"],
  },
  {
    name: "ALLOWED_REPOS",
    value: "A/b, c/*",
    key: "allowedRepos",
    read: new Set(["a/b", "c/*"]),
  },
  {
    name: "KV_WRITE_MB_PER_HOUR",
    value: "0",
    key: "kvWriteBytesPerHour",
    read: 0,
  },
  {
    name: "CACHE_MEMORY_MB",
    value: "1",
    key: "cacheMemoryBytes",
    read: 1 << 20,
  },
  { name: "MAX_ITEM_MB", value: "1", key: "maxItemBytes", read: 1 << 20 },
  {
    name: "CORS_ORIGINS",
    value: "https://a.test, http://b.test:81",
    key: "corsOrigins",
    read: new Set(["https://a.test", "http://b.test:81"]),
  },
  { name: "TRUST_PROXY", value: "1", key: "trustProxy", read: true },
  { name: "TRUST_PROXY", value: "0", key: "trustProxy", read: false },
];

Deno.test("parseSettings() reads lists, units, flags and addresses", () => {
  for (const { name, value, key, read } of GOOD) {
    assertEquals([name, parse({ [name]: value })[key]], [name, read]);
  }
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
    assertRefused(env, named);
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
    assertRefused(
      { CACHE_PURGE: caches, CACHE_PURGE_TOKEN: tokens },
      "CACHE_PURGE_TOKEN",
    );
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
    for (const value of values) assertRefused({ [name]: value }, name);
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
  const apiUrl = "http://127.0.0.1:1";
  assertEquals(parse({ GITHUB_API_URL: apiUrl }).github, {
    apiUrl,
    graphqlUrl: `${apiUrl}/graphql`,
    ...none,
  });
  const own = {
    GITHUB_GRAPHQL_URL: "https://g.test/q",
    GITHUB_RAW_URL: "https://r.test/",
    GITHUB_WEB_URL: "https://w.test",
  };
  assertEquals(parse({ GITHUB_API_URL: apiUrl, ...own }).github, {
    apiUrl,
    graphqlUrl: "https://g.test/q",
    rawUrl: "https://r.test",
    webUrl: "https://w.test",
    gitUrl: "https://w.test",
  });
  assertEquals(parse({ GITHUB_GIT_URL: "none" }).github.gitUrl, null);
  assertEquals(
    parse({ GITHUB_GIT_URL: "https://v.test/" }).github.gitUrl,
    "https://v.test",
  );
});
