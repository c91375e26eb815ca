// Runs the git command for tests. Nothing of the user's own Git setup gets in: the environment is cleared, the global
// and system configuration are empty, and author, committer and dates are fixed, so that the same steps give the same
// object ids on every machine.

/** Unix time, in seconds, of the first commit of a test repository; each later one adds a minute. */
export const firstCommitSeconds = 1_700_000_000;

/** Author and committer of everything that the tests commit. */
export const testIdentity = "Test Author <author@example.org>";

const CONFIGURATION = {
  ...{ "init.defaultBranch": "main", "safe.directory": "*", "gc.auto": "0" },
  ...{ "core.autocrlf": "false", "core.quotePath": "false", "core.fsync": "none" },
  "advice.detachedHead": "false",
};

/** The environment that git runs in: `PATH` and fixed values only. */
export function gitEnvironment(): Record<string, string> {
  const date = `${firstCommitSeconds} +0000`;
  const [, name, email] = /^(.*) <(.*)>$/.exec(testIdentity) as unknown as [string, string, string];
  const entries = Object.entries(CONFIGURATION);
  return {
    ...{ PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin", HOME: "/nonexistent", LC_ALL: "C" },
    ...{ GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1", GIT_TERMINAL_PROMPT: "0" },
    ...{ GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: date },
    ...{ GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email, GIT_COMMITTER_DATE: date },
    GIT_CONFIG_COUNT: String(entries.length),
    ...Object.fromEntries(entries.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ])),
  };
}

/** Runs one git command in `dir` and gives what it wrote. @throws {Error} with git's own message when it fails. */
export async function runGit(
  args: readonly string[],
  { dir }: { dir: string },
): Promise<Uint8Array<ArrayBuffer>> {
  const { code, stdout, stderr } = await new Deno.Command("git", {
    args: [...args],
    cwd: dir,
    clearEnv: true,
    env: gitEnvironment(),
    stdin: "null",
  }).output();
  if (code === 0) return stdout;
  const reason = new TextDecoder().decode(stderr).trim();
  throw new Error(`Cannot run "git ${args[0]}": ${reason || `status ${code}`}`);
}
