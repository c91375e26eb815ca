// The app's settings, as they are given and with the defaults filled in.

/** The app's settings. */
export interface FreshConfig {
  /** A path that comes before every route, as in `/docs`. */
  basePath?: string;
  /** On Deno Deploy, `production` requires Fresh's build. */
  mode?: "development" | "production";
}

/** The app's settings with the defaults filled in. */
export interface ResolvedFreshConfig {
  root: string;
  basePath: string;
  mode: "development" | "production";
}
