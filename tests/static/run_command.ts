// Commands for tests of packages and examples.

import { assert } from "@std/assert";
import { dirname } from "@std/path";

/**
 * Runs a command, with this Deno on the path. Fails where it fails, unless
 * `mayFail`.
 */
export async function run(
  command: string,
  args: string[],
  { mayFail = false, ...options }: {
    cwd: string;
    env?: Record<string, string>;
    mayFail?: boolean;
  },
): Promise<{ success: boolean; out: string; all: string }> {
  const env = {
    ...options.env,
    PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}`,
  };
  const result = await new Deno.Command(command, { args, ...options, env })
    .output();
  const decoder = new TextDecoder();
  const out = decoder.decode(result.stdout);
  const all = `${command} ${args.join(" ")}\n${out}${
    decoder.decode(result.stderr)
  }`;
  assert(mayFail || result.success, all);
  return { success: result.success, out, all };
}
