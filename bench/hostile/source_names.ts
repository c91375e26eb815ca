// The names under which the source serves every repository.

/**
 * Every repository is there under each of these, since the service shares its
 * slots among repositories.
 */
export const OWNERS: readonly string[] = [
  "octo",
  ...Array.from({ length: 8 }, (_, n) => `octo${n + 1}`),
];

/** The token that the source accepts. */
export const TOKEN = "bench-token";

/**
 * Repositories that no row attacks, for a client that has not been there
 * before.
 */
export const COLD_REPOSITORIES = 100;
