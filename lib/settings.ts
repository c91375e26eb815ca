// The settings: text from the environment -> one validated, frozen Config. `SETTINGS` is the only list of variables; the
// permissions of the tasks, .env.example and the README's table are checked against it.

import { z } from "zod";
import { type AllowedRepos, parseAllowedRepos } from "./allowed_repos.ts";
import { LOG_LEVELS, type LogLevel } from "./log.ts";

const MIB = 1 << 20;

/**
 * One environment variable: what applies where it is unset (the value itself, or a description where it depends on
 * others), its meaning as the README has it, and its parser.
 */
type Setting = readonly [unset: string, meaning: string, parser: z.ZodType];

/** Every variable that is read, in the order of the documents. */
export const SETTINGS = {
  PORT: ["8000", "where to listen; 0 is any free port", whole(0, 65_535).default(8000)],
  HOST: ["0.0.0.0", "the address to listen on", z.string().default("0.0.0.0")],
  PUBLIC_URL: [
    "the request's own origin",
    "base of the absolute URLs in answers",
    address().optional(),
  ],
  GITHUB_API_URL: [
    "GitHub's public API",
    "REST base, for GitHub Enterprise Server",
    address().optional(),
  ],
  GITHUB_GRAPHQL_URL: ["follows from GITHUB_API_URL", "GraphQL endpoint", address().optional()],
  GITHUB_RAW_URL: [
    "GitHub's raw host; none with GITHUB_API_URL",
    "base of raw files, {base}/{owner}/{repo}/{commit}/{path}; without one, files come from the API",
    address().optional(),
  ],
  GITHUB_WEB_URL: [
    "GitHub's site; none with GITHUB_API_URL",
    "base of htmlUrl",
    address().optional(),
  ],
  GITHUB_TOKEN: [
    "none",
    "one or more tokens, separated by commas",
    list("must be tokens without spaces, separated by commas"),
  ],
  GITHUB_GIT_URL: [
    "follows from GITHUB_WEB_URL",
    "base of {owner}/{repo}.git for checks without a token; none turns them off",
    address({ orNone: true }).optional(),
  ],
  GITHUB_WEBHOOK_SECRET: [
    "none",
    "one or more secrets, separated by commas; turns the webhook on",
    list("must be secrets without spaces, separated by commas"),
  ],
  ALLOWED_REPOS: [
    "all public ones",
    "owner/repo or owner/*, separated by commas; nothing else is served",
    z.string().transform((value, context) => {
      const allowed = parseAllowedRepos(value);
      if (allowed !== null) return allowed;
      context.addIssue({
        code: "custom",
        message: "must be owner/repo or owner/*, separated by commas",
      });
      return z.NEVER;
    }).optional(),
  ],
  LOCAL_REPOS_DIR: [
    "./examples where it exists",
    "each sub-folder is served as owner local; none turns it off",
    z.string().optional(),
  ],
  KV_PATH: [
    "Deno's own",
    "a SQLite file below ./data, :memory:, or the URL of a remote Deno KV (with DENO_KV_ACCESS_TOKEN)",
    z.string().optional(),
  ],
  KV_WRITE_MB_PER_HOUR: [
    "128",
    "past it, what is read stays in memory only, so that no client can fill the disk",
    whole(0, 1_000_000).default(128),
  ],
  CACHE_MEMORY_MB: ["64", "bound of the cache in memory", whole(1, 65_536).default(64)],
  MAX_ITEM_MB: ["10", "size cap of one file", whole(1, 100).default(10)],
  SOURCE_TIMEOUT_MS: [
    "10000",
    "time allowed for one request to GitHub",
    whole(1, 600_000).default(10_000),
  ],
  MISSES_PER_MINUTE: [
    "120",
    "cache misses allowed for each client address and minute (IPv6: for each /64); 0 turns it off",
    whole(0, 1_000_000).default(120),
  ],
  METRICS: [
    "false",
    "whether /metrics exists, in the text format of Prometheus",
    flag().default(false),
  ],
  TRUST_PROXY: [
    "false",
    "take the client's address, the host and the protocol from X-Forwarded-*",
    flag().default(false),
  ],
  LOG_LEVEL: [
    "info",
    "debug, info, warn, error or silent",
    z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(", ")}`).default("info"),
  ],
} as const satisfies Readonly<Record<string, Setting>>;

/** The names of the variables that are read. */
export const SETTING_NAMES: readonly string[] = Object.keys(SETTINGS);

type Values = { [K in keyof typeof SETTINGS]: z.infer<(typeof SETTINGS)[K][2]> };

/** A setting that cannot be used; its message is one line that names the variable. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/** Addresses of one GitHub host, none with a slash at the end. */
export interface GitHubAddresses {
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  /** Null where file bytes come from the API. */
  readonly rawUrl: string | null;
  /** Null where files have no web pages. */
  readonly webUrl: string | null;
  /** Null where Git's own protocol is not used. */
  readonly gitUrl: string | null;
}

/** All settings. Sizes in bytes, times in ms. */
export interface Config {
  readonly port: number;
  readonly host: string;
  readonly publicUrl: string | null;
  readonly github: GitHubAddresses;
  readonly tokens: readonly string[];
  readonly webhookSecrets: readonly string[];
  readonly allowedRepos: AllowedRepos | null;
  /** Undefined: `./examples` where that exists; null: none. */
  readonly localReposDir: string | null | undefined;
  readonly kvPath: string | null;
  readonly kvWriteBytesPerHour: number;
  readonly cacheMemoryBytes: number;
  readonly maxItemBytes: number;
  readonly sourceTimeoutMs: number;
  readonly missesPerMinute: number;
  readonly metrics: boolean;
  readonly trustProxy: boolean;
  readonly logLevel: LogLevel;
  /** Whether this is a preview of local folders: only a loopback `Host` and loopback origins are then served. */
  readonly isPreview: boolean;
}

/** Reads the settings through `get`; empty means unset. @throws {SettingsError} naming the variable. */
export function parseSettings(
  get: (name: string) => string | undefined,
  { isPreview = false }: { isPreview?: boolean } = {},
): Config {
  const values: Record<string, unknown> = {};
  for (const [name, [, , parser]] of Object.entries(SETTINGS)) {
    const result = parser.safeParse(get(name)?.trim() || undefined);
    if (!result.success) {
      throw new SettingsError(`Cannot start with "${name}": ${result.error.issues[0]!.message}`);
    }
    values[name] = result.data;
  }
  const given = values as Values;
  return Object.freeze({
    port: given.PORT,
    host: given.HOST,
    publicUrl: given.PUBLIC_URL ?? null,
    github: Object.freeze(addressesOf(given)),
    tokens: Object.freeze(given.GITHUB_TOKEN),
    webhookSecrets: Object.freeze(given.GITHUB_WEBHOOK_SECRET),
    allowedRepos: given.ALLOWED_REPOS ?? null,
    localReposDir: given.LOCAL_REPOS_DIR === "none" ? null : given.LOCAL_REPOS_DIR,
    kvPath: given.KV_PATH ?? null,
    kvWriteBytesPerHour: given.KV_WRITE_MB_PER_HOUR * MIB,
    cacheMemoryBytes: given.CACHE_MEMORY_MB * MIB,
    maxItemBytes: given.MAX_ITEM_MB * MIB,
    sourceTimeoutMs: given.SOURCE_TIMEOUT_MS,
    missesPerMinute: given.MISSES_PER_MINUTE,
    metrics: given.METRICS,
    trustProxy: given.TRUST_PROXY,
    logLevel: given.LOG_LEVEL,
    isPreview,
  });
}

function addressesOf(given: Values): GitHubAddresses {
  const own = given.GITHUB_API_URL;
  const apiUrl = own ?? "https://api.github.com";
  const webUrl = given.GITHUB_WEB_URL ?? (own === undefined ? "https://github.com" : null);
  return {
    apiUrl,
    // GitHub Enterprise Server has /api/v3 and /api/graphql beside each other.
    graphqlUrl: given.GITHUB_GRAPHQL_URL ??
      (apiUrl.endsWith("/api/v3") ? apiUrl.replace(/\/v3$/, "/graphql") : `${apiUrl}/graphql`),
    rawUrl: given.GITHUB_RAW_URL ??
      (own === undefined ? "https://raw.githubusercontent.com" : null),
    webUrl,
    gitUrl: given.GITHUB_GIT_URL === "none" ? null : given.GITHUB_GIT_URL ?? webUrl,
  };
}

function whole(minimum: number, maximum: number) {
  return z.string().regex(/^[0-9]{1,9}$/, "must be a whole number").transform(Number).pipe(
    z.number().min(minimum, `must be at least ${minimum}`)
      .max(maximum, `must be at most ${maximum}`),
  );
}

function address({ orNone = false } = {}) {
  return z.string().transform((value, context) => {
    if (orNone && value === "none") return value;
    const url = URL.parse(value);
    const isAddress = url !== null && /^https?:$/.test(url.protocol) &&
      url.username + url.password + url.search + url.hash === "";
    if (isAddress) return url.href.replace(/\/+$/, "");
    context.addIssue({
      code: "custom",
      message: "must be an http or https address, without user, query or fragment",
    });
    return z.NEVER;
  });
}

function flag() {
  return z.enum(["true", "false", "1", "0"], "must be true, false, 1 or 0")
    .transform((value) => value === "true" || value === "1");
}

/** Texts of visible ASCII, separated by commas. */
function list(message: string) {
  return z.string()
    .transform((value) => value.split(",").map((entry) => entry.trim()).filter(Boolean))
    .pipe(z.array(z.string().regex(/^[\x21-\x7e]+$/, message))).default([]);
}
