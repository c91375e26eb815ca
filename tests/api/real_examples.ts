// Answers of the service itself, for the OpenAPI document: those on the example blog, and every problem that can be
// caused. What differs from run to run is set to one value.

import type { ListBody, ProblemBody } from "../../lib/api/contract.ts";
import { problemRows } from "../routes/problem_rows.ts";
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

/** The examples as lib/api/openapi_examples.json holds them. */
export interface RealExamples {
  readonly list: Record<string, unknown>;
  readonly item: Record<string, unknown>;
  readonly problems: Record<string, unknown>;
}

const BLOG = { owner: "local", repo: "blog", collection: "posts" };
const REQUEST_ID = "5f0c1a2b-1z";

/** Asks the service for every example. */
export async function realExamples(): Promise<RealExamples> {
  const root = new URL("../../examples", import.meta.url).pathname;
  await using service = await startService({ env: { LOCAL_REPOS_DIR: decodeURIComponent(root) } });
  const page: ListBody = await service.list({ ...BLOG, limit: 2 });
  const path = page.items[0]!.path;
  const get = async (path: string) => await (await service.get(path)).json();
  return {
    list: {
      page,
      "page with content": await get(listPath({ ...BLOG, limit: 1, includeContent: true })),
      "page past the end": await get(listPath({ ...BLOG, page: 9 })),
    },
    item: {
      "text with front matter": await get(itemPath({ owner: "local", repo: "blog", path })),
      "image": await get(itemPath({ owner: "local", repo: "blog", path: "images/oven.svg" })),
    },
    problems: await realProblems(),
  };
}

async function realProblems(): Promise<Record<string, ProblemBody>> {
  const problems: Record<string, ProblemBody> = {};
  for (const { code, options = {}, arrange, path, init } of problemRows) {
    if (code in problems) continue;
    await using site = await startSite({
      "posts/a.md": "# A\n",
      "more/large.bin": new Uint8Array((1 << 20) + 1),
    }, options);
    await arrange?.(site);
    const problem = await site.service.problem(path, init);
    problems[code] = JSON.parse(JSON.stringify(problem).replaceAll(problem.requestId, REQUEST_ID));
  }
  return problems;
}
