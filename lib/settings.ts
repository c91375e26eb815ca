// The settings: text from the environment -> one validated, frozen Config. docs/operations.md has what each one means; its
// table, .env.example and the permissions of the tasks are checked against `SETTINGS`.

import { z } from "zod";
import { LOG_LEVELS } from "./log.ts";
import type { AllowedRepos } from "./source/source.ts";

const MIB = 1 << 20;
/** Text of visible ASCII. */
const SECRET = /^[\x21-\x7e]+$/;

/** Every variable that is read, in the order of the documents. */
const SETTINGS = {
  PORT: whole(0, 65_535).default(8000),
  HOST: z.string().default("0.0.0.0"),
  PUBLIC_URL: address().optional(),
  GITHUB_API_URL: address().optional(),
  GITHUB_GRAPHQL_URL: address().optional(),
  GITHUB_RAW_URL: address().optional(),
  GITHUB_WEB_URL: address().optional(),
  GITHUB_TOKEN: list(SECRET, "must be tokens without spaces, separated by commas").default([]),
  GITHUB_GIT_URL: address({ orNone: true }).optional(),
  GITHUB_WEBHOOK_SECRET: list(SECRET, "must be secrets without spaces, separated by commas")
    .default([]),
  ALLOWED_REPOS: list(
    /^[a-z0-9_-]+\/(\*|[a-z0-9._-]+)$/i,
    "must be owner/repo or owner/*, separated by commas",
    { minimum: 1 },
  ).transform((repos): AllowedRepos => new Set(repos.map((repo) => repo.toLowerCase()))).optional(),
  LOCAL_REPOS_DIR: z.string().optional(),
  KV_PATH: z.string().optional(),
  KV_WRITE_MB_PER_HOUR: whole(0, 1_000_000).default(128),
  CACHE_MEMORY_MB: whole(1, 65_536).default(64),
  MAX_ITEM_MB: whole(1, 100).default(10),
  SOURCE_TIMEOUT_MS: whole(1, 600_000).default(10_000),
  MISSES_PER_MINUTE: whole(0, 1_000_000).default(120),
  METRICS: flag().default(false),
  TRUST_PROXY: flag().default(false),
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(", ")}`).default("info"),
};

/** The names of the variables that are read. */
export const SETTING_NAMES: readonly string[] = Object.keys(SETTINGS);

type Values = { [K in keyof typeof SETTINGS]: z.infer<(typeof SETTINGS)[K]> };

/** A setting that cannot be used; its message is one line that names the variable. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/** All settings. Sizes in bytes, times in ms; null where there is none. */
export type Config = ReturnType<typeof parseSettings>;

/** Reads the settings through `get`; empty means unset. @throws {SettingsError} naming the variable. */
export function parseSettings(
  get: (name: string) => string | undefined,
  { isPreview = false }: { isPreview?: boolean } = {},
) {
  const given = Object.fromEntries(
    Object.entries(SETTINGS).map(([name, parser]) => {
      const result = parser.safeParse(get(name)?.trim() || undefined);
      if (result.success) return [name, result.data];
      throw new SettingsError(`Cannot start with "${name}": ${result.error.issues[0]!.message}`);
    }),
  ) as Values;
  return Object.freeze({
    port: given.PORT,
    host: given.HOST,
    publicUrl: given.PUBLIC_URL ?? null,
    github: Object.freeze(addressesOf(given)),
    tokens: given.GITHUB_TOKEN,
    webhookSecrets: given.GITHUB_WEBHOOK_SECRET,
    allowedRepos: given.ALLOWED_REPOS ?? null,
    /** Undefined: `./examples` where that exists. */
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
    /** Whether this is a preview of local folders: only a loopback `Host` and loopback origins are then served. */
    isPreview,
  });
}

/** Addresses without a slash at the end; null where the service does without one. */
function addressesOf(given: Values) {
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
  const isAddress = (value: string) => {
    const url = URL.parse(value);
    return url !== null && /^https?:$/.test(url.protocol) &&
      url.username + url.password + url.search + url.hash === "";
  };
  return z.string().refine(
    (value) => orNone && value === "none" || isAddress(value),
    "must be an http or https address, without user, query or fragment",
  ).transform((value) => value === "none" ? value : new URL(value).href.replace(/\/+$/, ""));
}

function flag() {
  return z.enum(["true", "false", "1", "0"], "must be true, false, 1 or 0")
    .transform((value) => value === "true" || value === "1");
}

/** Texts separated by commas. */
function list(entry: RegExp, message: string, { minimum = 0 } = {}) {
  const split = (text: string) => text.split(",").map((part) => part.trim()).filter(Boolean);
  return z.string().transform(split)
    .pipe(z.array(z.string().regex(entry, message)).min(minimum, message));
}
