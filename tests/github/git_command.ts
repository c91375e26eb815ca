// Runs the git command for tests. Nothing of the user's own Git setup gets in: the environment is
// cleared, the global and system configuration are empty, and author, committer and dates are
// fixed, so that the same steps give the same object ids on every machine.

/** Author and committer of everything that the tests commit. */
export const testIdentity = "Test Author <author@example.org>";

/** Unix time, in seconds, of the first commit of a test repository; each later one adds a minute. */
export const firstCommitSeconds = 1_700_000_000;

const configuration = {
  "init.defaultBranch": "main",
  "safe.directory": "*",
  "gc.auto": "0",
  "core.autocrlf": "false",
  "core.quotePath": "false",
  "core.fsync": "none",
  "fastimport.unpackLimit": "0",
  "advice.detachedHead": "false",
};

/** The environment that git runs in: `PATH` and fixed values only. */
export function gitEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {
    PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
    HOME: "/nonexistent",
    LC_ALL: "C",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_SYSTEM: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_AUTHOR_NAME: "Test Author",
    GIT_AUTHOR_EMAIL: "author@example.org",
    GIT_AUTHOR_DATE: `${firstCommitSeconds} +0000`,
    GIT_COMMITTER_NAME: "Test Author",
    GIT_COMMITTER_EMAIL: "author@example.org",
    GIT_COMMITTER_DATE: `${firstCommitSeconds} +0000`,
    GIT_CONFIG_COUNT: String(Object.keys(configuration).length),
  };
  Object.entries(configuration).forEach(([key, value], index) => {
    environment[`GIT_CONFIG_KEY_${index}`] = key;
    environment[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  return environment;
}

/**
 * Runs one git command in `dir` and gives what it wrote to standard output.
 *
 * @throws {Error} if git ends with another status than 0; the message holds its standard error.
 */
export async function runGit(
  args: readonly string[],
  options: { dir: string; stdin?: ReadableStream<Uint8Array> },
): Promise<Uint8Array<ArrayBuffer>> {
  const child = new Deno.Command("git", {
    args: [...args],
    cwd: options.dir,
    clearEnv: true,
    env: gitEnvironment(),
    stdin: options.stdin ? "piped" : "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  // A git that stops early breaks the pipe; its own message, below, says why.
  const fed = options.stdin?.pipeTo(child.stdin).catch(() => {});
  const { code, stdout, stderr } = await child.output();
  await fed;
  if (code !== 0) {
    const reason = new TextDecoder().decode(stderr).trim();
    throw new Error(`Cannot run "git ${args[0]}": ${reason || `status ${code}`}`);
  }
  return stdout;
}

/** {@linkcode runGit} for output that is one piece of text; outer white space is cut off. */
export async function runGitText(
  args: readonly string[],
  options: { dir: string },
): Promise<string> {
  return new TextDecoder().decode(await runGit(args, options)).trim();
}
