// Parses environment variables into one validated and frozen Config.
// docs/operations.md explains each setting. Tests compare `SETTINGS` with its
// table and .env.example and with the permissions of the tasks.

import { z } from "zod";
import { LOG_CLIENTS, LOG_LEVELS } from "./log.ts";
import type { AllowedRepos } from "./source/source.ts";

const MIB = 1 << 20;
/** Visible ASCII because a token is sent in a header. */
const TOKEN = /^[\x21-\x7e]+$/;
const SECRET = /^\P{Cc}+$/u;
const ORIGINS = "origins such as https://example.org";
/** A cache in front with its address, its service or its zone. */
const CACHE =
  /^((varnish|url):https?:\/\/[^\s@?#]+|(fastly|cloudflare):\w{1,64})$/;
const CACHES =
  "varnish:<address>, fastly:<service>, cloudflare:<zone> or url:<address>";
const REPOSITORY = /^[a-z0-9_-]+\/(\*|[a-z0-9._-]+)$/i;

const optionalText = z.string().nullable().default(null);

/**
 * Every setting with its variable, in the order of the documents. Sizes are in
 * bytes and times in ms. Null means that there is none.
 */
const SETTINGS = {
  port: ["PORT", whole(0, 65_535).default(8000)],
  host: ["HOST", z.string().default("0.0.0.0")],
  publicUrl: ["PUBLIC_URL", address().nullable().default(null)],
  apiUrl: ["GITHUB_API_URL", address().optional()],
  graphqlUrl: ["GITHUB_GRAPHQL_URL", address().optional()],
  rawUrl: ["GITHUB_RAW_URL", address().optional()],
  webUrl: ["GITHUB_WEB_URL", address().optional()],
  tokens: ["GITHUB_TOKEN", list(TOKEN, "tokens without spaces").default([])],
  tokenFile: ["GITHUB_TOKEN_FILE", optionalText],
  appId: [
    "GITHUB_APP_ID",
    z.string().regex(/^[\w.]{1,100}$/, "must be the id of a GitHub App")
      .nullable().default(null),
  ],
  appPrivateKey: ["GITHUB_APP_PRIVATE_KEY", optionalText],
  appPrivateKeyFile: ["GITHUB_APP_PRIVATE_KEY_FILE", optionalText],
  gitUrl: ["GITHUB_GIT_URL", address("none").optional()],
  webhookSecrets: [
    "GITHUB_WEBHOOK_SECRET",
    list(SECRET, "secrets without control characters", 1).default([]),
  ],
  cachePurge: [
    "CACHE_PURGE",
    list(CACHE, CACHES, 1).refine(
      (caches) =>
        caches.every((cache) =>
          URL.canParse(cache.replace(/^(varnish|url):/, ""))
        ),
      `must be ${CACHES}, separated by commas`,
    ).default([]),
  ],
  cachePurgeTokens: [
    "CACHE_PURGE_TOKEN",
    list(TOKEN, "tokens without spaces").default([]),
  ],
  sharedMaxAge: ["SHARED_MAX_AGE", whole(0, 60).nullable().default(null)],
  allowedRepos: [
    "ALLOWED_REPOS",
    list(REPOSITORY, "owner/repo or owner/*", 1)
      .transform((repos): AllowedRepos =>
        new Set(repos.map((repo) => repo.toLowerCase()))
      )
      .nullable().default(null),
  ],
  /** Undefined means `./examples` if that exists. */
  localReposDir: [
    "LOCAL_REPOS_DIR",
    z.string().transform((path) => path === "none" ? null : path).optional(),
  ],
  kvPath: [
    "KV_PATH",
    z.string().refine(
      (path) => !path.includes("://") || isHttpUrl(path),
      "must be a path, :memory:, or the http or https address of a Deno KV",
    ).nullable().default(null),
  ],
  kvWriteBytesPerHour: ["KV_WRITE_MB_PER_HOUR", megabytes(0, 1_000_000, 128)],
  cacheMemoryBytes: ["CACHE_MEMORY_MB", megabytes(1, 65_536, 64)],
  maxItemBytes: ["MAX_ITEM_MB", megabytes(1, 100, 10)],
  sourceTimeoutMs: ["SOURCE_TIMEOUT_MS", whole(1, 600_000).default(10_000)],
  shutdownDelayMs: ["SHUTDOWN_DELAY_MS", whole(0, 600_000).default(0)],
  missesPerMinute: ["MISSES_PER_MINUTE", whole(0, 1_000_000).default(120)],
  corsOrigins: [
    "CORS_ORIGINS",
    list(/^[^*\s]+$/, ORIGINS, 1)
      .pipe(z.array(
        z.string().refine(
          (text) => isHttpUrl(text) && new URL(text).origin === text,
          `must be ${ORIGINS}, separated by commas`,
        ),
      ))
      .transform((origins): ReadonlySet<string> => new Set(origins))
      .nullable().default(null),
  ],
  requirePublished: ["REQUIRE_PUBLISHED", flag()],
  metrics: ["METRICS", flag()],
  trustProxy: ["TRUST_PROXY", flag()],
  logLevel: [
    "LOG_LEVEL",
    z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(", ")}`).default(
      "info",
    ),
  ],
  logClients: [
    "LOG_CLIENTS",
    z.enum(LOG_CLIENTS, `must be one of ${LOG_CLIENTS.join(", ")}`)
      .default("none"),
  ],
} as const;

/** One of each may be set. */
const TOKEN_SETTINGS = ["GITHUB_APP_ID", "GITHUB_TOKEN_FILE", "GITHUB_TOKEN"];
const KEY_SETTINGS = ["GITHUB_APP_PRIVATE_KEY_FILE", "GITHUB_APP_PRIVATE_KEY"];

/** The names of the variables that are read. */
export const SETTING_NAMES: readonly string[] = Object.values(SETTINGS).map((
  [name],
) => name);

/**
 * A setting that cannot be used. Its message is one line that names the
 * variable.
 */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/** All settings. */
export type Config = ReturnType<typeof parseSettings>;

/**
 * Returns the settings that `get` provides. Empty means unset.
 * @throws {SettingsError} naming the variable.
 *
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 *
 * const env = new Map([["CACHE_MEMORY_MB", "32"], ["HOST", ""]]);
 * const { cacheMemoryBytes, host } = parseSettings((name) => env.get(name));
 * equal(cacheMemoryBytes, 32 * 1024 * 1024);
 * equal(host, "0.0.0.0");
 * ```
 */
export function parseSettings(
  get: (name: string) => string | undefined,
  { isPreview = false }: { isPreview?: boolean } = {},
) {
  const fault = (name: string | undefined, state: string) =>
    new SettingsError(`Cannot start with "${name}": ${state}`);
  const entries = Object.entries(SETTINGS).map(([key, [name, schema]]) => {
    const result = schema.safeParse(get(name)?.trim() || undefined);
    if (result.success) return [key, result.data];
    throw fault(name, result.error.issues[0]!.message);
  });
  const [[source, otherSource], [key, otherKey]] = [
    TOKEN_SETTINGS,
    KEY_SETTINGS,
  ]
    .map((names) => names.filter((name) => get(name)?.trim())) as [
      string[],
      string[],
    ];
  if (otherSource) throw fault(source, `must not be set beside ${otherSource}`);
  if (otherKey) throw fault(key, `must not be set beside ${otherKey}`);
  const isApp = source === "GITHUB_APP_ID";
  if (isApp && !key) {
    throw fault(
      source,
      `must be set together with ${KEY_SETTINGS.join(" or ")}`,
    );
  }
  if (key && !isApp) {
    throw fault(key, "must be set together with GITHUB_APP_ID");
  }
  const { apiUrl: own, graphqlUrl, rawUrl, webUrl, gitUrl, ...given } = Object
    .fromEntries(
      entries,
    ) as { [Key in keyof typeof SETTINGS]: z.infer<(typeof SETTINGS)[Key][1]> };
  const named = given.cachePurge.filter((cache) =>
    !cache.startsWith("varnish:")
  );
  if (named.length !== given.cachePurgeTokens.length) {
    throw fault(
      "CACHE_PURGE_TOKEN",
      "must have one token for each cache in CACHE_PURGE but Varnish",
    );
  }
  const apiUrl = own ?? "https://api.github.com";
  const publicOrNone = (url: string) => own === undefined ? url : null;
  const web = webUrl ?? publicOrNone("https://github.com");
  /**
   * URLs without a trailing slash. Null if the service does not use the host.
   */
  const github = Object.freeze({
    apiUrl,
    // GitHub Enterprise Server has both /api/v3 and /api/graphql.
    graphqlUrl: graphqlUrl ??
      `${apiUrl.replace(/(?<=\/api)\/v3$/, "")}/graphql`,
    rawUrl: rawUrl ?? publicOrNone("https://raw.githubusercontent.com"),
    webUrl: web,
    gitUrl: gitUrl === "none" ? null : gitUrl ?? web,
  });
  // A preview of local folders serves only a loopback `Host` and loopback
  // origins.
  return Object.freeze({ ...given, github, isPreview });
}

function whole(minimum: number, maximum: number) {
  return z.string().regex(/^[0-9]{1,9}$/, "must be a whole number").transform(
    Number,
  ).pipe(
    z.number().min(minimum, `must be at least ${minimum}`)
      .max(maximum, `must be at most ${maximum}`),
  );
}

function megabytes(minimum: number, maximum: number, byDefault: number) {
  return whole(minimum, maximum).default(byDefault).transform((megabytes) =>
    megabytes * MIB
  );
}

/** A URL without a trailing slash or the text `other`. */
function address(other?: string) {
  const isAddress = (value: string) => {
    const { username, password } = URL.parse(value) ?? {};
    // An empty query or fragment is not visible in `search` or `hash`.
    return isHttpUrl(value) && !username && !password && !/[?#]/.test(value);
  };
  return z.string().refine(
    (value) => value === other || isAddress(value),
    "must be an http or https address, without user, query or fragment",
  ).transform((value) =>
    value === other ? value : new URL(value).href.replace(/\/+$/, "")
  );
}

function isHttpUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? "");
}

function flag() {
  return z.enum(["true", "false", "1", "0"], "must be true, false, 1 or 0")
    .transform((value) => value === "true" || value === "1").default(false);
}

function list(entry: RegExp, what: string, minimum = 0) {
  const message = `must be ${what}, separated by commas`;
  const split = (text: string) =>
    text.split(",").map((part) => part.trim()).filter(Boolean);
  return z.string().transform(split)
    .pipe(z.array(z.string().regex(entry, message)).min(minimum, message));
}
