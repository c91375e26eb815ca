// The repositories that benches list, in the GitHub double. Their content is known, so a bench can tell a right answer
// from a wrong one.

import { type GeneratedFiles, generateFiles } from "../tests/github/generated_files.ts";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { type RunningDouble, startDouble } from "../tests/github/start_double.ts";

/** The token that the double accepts; with one, the service checks branches ahead of need. */
export const TOKEN = "bench-token";

/** Owner of all repositories. */
export const OWNER = "octo";

/** The content of the repositories: hits are measured on `site`, cold requests on `deep`, the others are listed. */
export const SHAPES = {
  site: { folders: 10, filesPerFolder: 2_000, bytes: 1_200 },
  small: { folders: 1, filesPerFolder: 100, identical: true },
  deep: { prefix: "content/posts", folders: 0, filesPerFolder: 100, bytes: 2_000 },
  large: { folders: 100, filesPerFolder: 1_000, identical: true },
} satisfies Record<string, GeneratedFiles>;

/** Paths and contents of a repository, in byte order of path. */
export function filesOf(name: keyof typeof SHAPES): (readonly [path: string, content: string])[] {
  return [...generateFiles(SHAPES[name])];
}

/** Settings of a service whose source is this double, with limits that no bench reaches. */
export function settingsFor(double: RunningDouble): Record<string, string> {
  return {
    GITHUB_API_URL: double.apiUrl,
    GITHUB_TOKEN: TOKEN,
    LOCAL_REPOS_DIR: "none",
    MISSES_PER_MINUTE: "0",
    SOURCE_TIMEOUT_MS: "60000",
  };
}

/** Starts the double; `coldNames` are more names for the files of `large`, not listed yet. */
export async function startRepositories(
  cleanup: AsyncDisposableStack,
  { coldNames = [] }: { coldNames?: readonly string[] } = {},
): Promise<RunningDouble> {
  const large = cleanup.use(await makeGitRepository(generateFiles(SHAPES.large)));
  const double = cleanup.use(
    await startDouble({
      repositories: {
        [`${OWNER}/site`]: { generate: SHAPES.site },
        [`${OWNER}/small`]: { generate: SHAPES.small },
        [`${OWNER}/deep`]: { generate: SHAPES.deep },
        ...Object.fromEntries(
          ["large", ...coldNames].map((name) => [`${OWNER}/${name}`, { dir: large.dir }]),
        ),
      },
      tokens: { [TOKEN]: { sees: "all" } },
    }),
  );
  await double.call("setQuota", TOKEN, { limit: 1_000_000, remaining: 1_000_000 });
  return double;
}
