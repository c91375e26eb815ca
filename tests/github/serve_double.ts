// Runs a GitHub double as a process of its own. Its one argument is JSON, and its first line of output is JSON too:
// `{ apiUrl, rawUrl, graphqlUrl, webUrl, controlUrl }`. `dir` is the folder of a {@linkcode GitRepository} that another
// process has made and may change.
//
//   deno run -A tests/github/serve_double.ts '{
//     "repositories": {
//       "octo/site": { "files": { "posts/a.md": "# A\n" } },
//       "octo/big": { "generate": { "folders": 10, "filesPerFolder": 300 } },
//       "octo/empty": { "empty": true }
//     },
//     "tokens": { "t1": { "sees": "all" } },
//     "settings": { "latencyMs": 300 }
//   }'

import { type GeneratedFiles, generateFiles } from "./generated_files.ts";
import { GitRepository, makeGitRepository } from "./git_repository.ts";
import { decodeFiles, type JsonContent, serveControl, setFields } from "./github_control.ts";
import { GithubDouble } from "./github_double.ts";
import type { Visibility } from "./github_registry.ts";

/** What the process serves. */
export interface DoubleConfig {
  repositories?: Record<string, {
    files?: Record<string, JsonContent>;
    generate?: GeneratedFiles;
    dir?: string;
    empty?: boolean;
    visibility?: Visibility;
    defaultBranch?: string;
  }>;
  tokens?: Record<string, { sees?: "all" | string[] }>;
  settings?: Record<string, unknown>;
}

async function serve(config: DoubleConfig): Promise<void> {
  const gh = await GithubDouble.start();
  for (const [name, wanted] of Object.entries(config.repositories ?? {})) {
    const { files = {}, generate, dir, empty, ...options } = wanted;
    if (empty) {
      gh.addEmpty(name);
      continue;
    }
    const branch = options.defaultBranch ?? "main";
    const content = generate ? generateFiles(generate) : decodeFiles(files);
    const made = () => makeGitRepository(content, { branch });
    gh.add(name, dir === undefined ? await made() : new GitRepository(dir), options);
  }
  for (const [token, options] of Object.entries(config.tokens ?? {})) gh.addToken(token, options);
  setFields(gh, config.settings ?? {});
  const control = serveControl(gh);
  const controlUrl = `http://127.0.0.1:${control.addr.port}`;
  const { apiUrl, rawUrl, graphqlUrl, webUrl } = gh;
  console.log(JSON.stringify({ apiUrl, rawUrl, graphqlUrl, webUrl, controlUrl }));

  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  await stopped;
  await control.shutdown();
  await gh.close({ assert: false });
  Deno.exit(gh.unexpected.length > 0 ? 1 : 0);
}

if (import.meta.main) await serve(JSON.parse(Deno.args[0] ?? "{}"));
