// The settings: text from the environment -> one validated, frozen Config. Knows no environment itself.

import { z } from "zod";
import { LOG_LEVELS } from "./log.ts";
import { type AllowedRepos, parseAllowedRepos } from "./repository/allowed_repos.ts";

/** Addresses of one GitHub host, none with a slash at the end. */
export interface GitHubAddresses {
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  /** Null where file bytes come from the API. */
  readonly rawUrl: string | null;
  /** Null where files have no web pages. */
  readonly webUrl: string | null;
}

const MIB = 1 << 20;
const PUBLIC_API_URL = "https://api.github.com";

function whole(minimum: number, maximum: number) {
  return z.string().regex(/^[0-9]{1,9}$/, "must be a whole number").transform(Number)
    .pipe(
      z.number().min(minimum, `must be at least ${minimum}`).max(
        maximum,
        `must be at most ${maximum}`,
      ),
    );
}

const address = z.string().transform((value, context) => {
  const url = URL.parse(value);
  if (
    url === null || !/^https?:$/.test(url.protocol) ||
    url.username + url.password + url.search + url.hash !== ""
  ) {
    context.addIssue({
      code: "custom",
      message: "must be an http or https address, without user, query or fragment",
    });
    return z.NEVER;
  }
  return url.href.replace(/\/+$/, "");
});

const flag = z.enum(["true", "false", "1", "0"], "must be true, false, 1 or 0")
  .transform((value) => value === "true" || value === "1");

const settings = z.object({
  PORT: whole(0, 65_535).default(8000),
  HOST: z.string().default("0.0.0.0"),
  PUBLIC_URL: address.optional(),
  GITHUB_API_URL: address.optional(),
  GITHUB_GRAPHQL_URL: address.optional(),
  GITHUB_RAW_URL: address.optional(),
  GITHUB_WEB_URL: address.optional(),
  GITHUB_TOKEN: z.string().transform((value) =>
    value.split(",").map((token) => token.trim()).filter(Boolean)
  )
    .pipe(
      z.array(
        z.string().regex(/^[\x21-\x7e]+$/, "must be tokens without spaces, separated by commas"),
      ),
    )
    .default([]),
  ALLOWED_REPOS: z.string().transform((value, context) => {
    const allowed = parseAllowedRepos(value);
    if (allowed !== null) return allowed;
    context.addIssue({
      code: "custom",
      message: "must be owner/repo or owner/*, separated by commas",
    });
    return z.NEVER;
  }).optional(),
  LOCAL_REPOS_DIR: z.string().optional(),
  KV_PATH: z.string().optional(),
  KV_WRITE_MB_PER_HOUR: whole(0, 1_000_000).default(128),
  CACHE_MEMORY_MB: whole(1, 65_536).default(64),
  MAX_ITEM_MB: whole(1, 100).default(10),
  SOURCE_TIMEOUT_MS: whole(1, 600_000).default(10_000),
  MISSES_PER_MINUTE: whole(0, 1_000_000).default(120),
  METRICS: flag.default(false),
  TRUST_PROXY: flag.default(false),
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(", ")}`).default("info"),
});

/** The variables that are read. */
export const SETTING_NAMES: readonly string[] = Object.keys(settings.shape);

/** A setting that cannot be used; its message is one line that names the variable. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/** All settings. Sizes in bytes, times in ms. */
export interface Config {
  readonly port: number;
  readonly host: string;
  readonly publicUrl: string | null;
  readonly github: GitHubAddresses;
  readonly tokens: readonly string[];
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
  readonly logLevel: typeof LOG_LEVELS[number];
}

/** Reads the settings through `get`; empty means unset. @throws {SettingsError} naming the variable. */
export function parseSettings(get: (name: string) => string | undefined): Config {
  const given: Record<string, string> = {};
  for (const name of SETTING_NAMES) {
    const value = get(name)?.trim();
    if (value) given[name] = value;
  }
  const result = settings.safeParse(given);
  if (!result.success) {
    const { path, message } = result.error.issues[0]!;
    throw new SettingsError(`Cannot start with "${String(path[0])}": ${message}`);
  }
  const { data } = result;
  return Object.freeze({
    port: data.PORT,
    host: data.HOST,
    publicUrl: data.PUBLIC_URL ?? null,
    github: Object.freeze(addressesOf(data)),
    tokens: Object.freeze(data.GITHUB_TOKEN),
    allowedRepos: data.ALLOWED_REPOS ?? null,
    localReposDir: data.LOCAL_REPOS_DIR === "none" ? null : data.LOCAL_REPOS_DIR,
    kvPath: data.KV_PATH ?? null,
    kvWriteBytesPerHour: data.KV_WRITE_MB_PER_HOUR * MIB,
    cacheMemoryBytes: data.CACHE_MEMORY_MB * MIB,
    maxItemBytes: data.MAX_ITEM_MB * MIB,
    sourceTimeoutMs: data.SOURCE_TIMEOUT_MS,
    missesPerMinute: data.MISSES_PER_MINUTE,
    metrics: data.METRICS,
    trustProxy: data.TRUST_PROXY,
    logLevel: data.LOG_LEVEL,
  });
}

function addressesOf(data: z.infer<typeof settings>): GitHubAddresses {
  const own = data.GITHUB_API_URL;
  const apiUrl = own ?? PUBLIC_API_URL;
  return {
    apiUrl,
    // GitHub Enterprise Server has /api/v3 and /api/graphql beside each other.
    graphqlUrl: data.GITHUB_GRAPHQL_URL ??
      (apiUrl.endsWith("/api/v3") ? apiUrl.replace(/\/v3$/, "/graphql") : `${apiUrl}/graphql`),
    rawUrl: data.GITHUB_RAW_URL ?? (own === undefined ? "https://raw.githubusercontent.com" : null),
    webUrl: data.GITHUB_WEB_URL ?? (own === undefined ? "https://github.com" : null),
  };
}
