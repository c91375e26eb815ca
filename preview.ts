// Serves an author the repositories of a local folder, as they are on disk: `deno task preview DIR`. Nothing but that
// folder is served, and nobody but this machine is answered.

import { basename, dirname, join, resolve } from "@std/path";
import { start } from "./main.ts";

if (import.meta.main) {
  const [dir, ...more] = Deno.args;
  if (dir === undefined || more.length > 0) {
    console.error('Cannot start a preview: name one folder, as in "deno task preview ../my-repos"');
    Deno.exit(1);
  }
  await start({
    HOST: "127.0.0.1",
    KV_PATH: ":memory:",
    ...await localRepositories(resolve(dir)),
  });
}

/** A folder of repositories, or one Git checkout, which is then the only repository. */
async function localRepositories(path: string): Promise<Record<string, string>> {
  const isCheckout = await Deno.lstat(join(path, ".git")).then(() => true, () => false);
  return isCheckout
    ? { LOCAL_REPOS_DIR: dirname(path), ALLOWED_REPOS: `local/${basename(path)}` }
    : { LOCAL_REPOS_DIR: path, ALLOWED_REPOS: "local/*" };
}
