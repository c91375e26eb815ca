// Commands and folders for tests of packages and examples.

import { assert } from "@std/assert";
import { dirname, join } from "@std/path";

/** Runs a command, with this Deno on the path. Fails where it fails, unless `mayFail`. */
export async function run(
  command: string,
  args: string[],
  { mayFail = false, ...options }: { cwd: string; env?: Record<string, string>; mayFail?: boolean },
): Promise<{ success: boolean; out: string; all: string }> {
  const env = { ...options.env, PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}` };
  const result = await new Deno.Command(command, { args, ...options, env }).output();
  const [out, error] = [result.stdout, result.stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  const all = `${command} ${args.join(" ")}\n${out}${error}`;
  assert(mayFail || result.success, all);
  return { success: result.success, out: out!, all };
}

/** Copies a folder with all in it. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyFolder(join(from, name), join(to, name));
    else await Deno.copyFile(join(from, name), join(to, name));
  }
}
