// Responses of the service itself, for the OpenAPI document: those on the
// example blog, and problems. What differs from run to run is set to one value.

import type { ListBody, ProblemBody } from "../../lib/api/contract.ts";
import {
  changesPath,
  collectionsPath,
  itemPath,
  listPath,
  startService,
} from "../service.ts";
import { startSite } from "../site.ts";

/** A response and the path of the request that it belongs to. */
export interface RealExample {
  readonly "x-request": string;
  readonly value: unknown;
}

/** The examples of the OpenAPI document. */
export interface RealExamples {
  readonly list: Record<string, RealExample>;
  readonly item: Record<string, RealExample>;
  readonly collections: Record<string, RealExample>;
  readonly changes: Record<string, RealExample>;
  readonly problems: Record<string, unknown>;
}

const BLOG = { owner: "local", repo: "blog", collection: "posts" };
const REQUEST_ID = "5f0c1a2b-1z";

/** Requests every example from the service. */
export async function realExamples(): Promise<RealExamples> {
  const root = new URL("../../examples", import.meta.url).pathname;
  await using service = await startService({
    env: { LOCAL_REPOS_DIR: decodeURIComponent(root) },
  });
  const get = async (path: string) => ({
    "x-request": path,
    value: await (await service.get(path)).json(),
  });
  const page = await get(listPath({ ...BLOG, limit: 2 }));
  const [{ path, slug }] = (page.value as ListBody).items as [
    ListBody["items"][0],
  ];
  return {
    list: {
      page,
      "newest posts with their tags": await get(listPath({
        ...BLOG,
        limit: 2,
        sort: "-frontMatter.date",
        fields: "slug,excerpt,frontMatter.title,frontMatter.date",
        facets: "frontMatter.tags",
      })),
      "page with content": await get(
        listPath({ ...BLOG, limit: 1, includeContent: true }),
      ),
      "page past the end": await get(listPath({ ...BLOG, page: 9 })),
    },
    item: {
      "text with front matter": await get(
        itemPath({ owner: "local", repo: "blog", path }),
      ),
      "post by slug with HTML and neighbors": await get(itemPath({
        ...BLOG,
        slug,
        includeHtml: true,
        linkTemplate: "/blog/{slug}",
        includeNeighbors: true,
        sort: "-frontMatter.date",
      })),
      "image": await get(
        itemPath({ owner: "local", repo: "blog", path: "images/oven.svg" }),
      ),
    },
    collections: {
      "collections and folders": await get(
        collectionsPath({ owner: "local", repo: "blog" }),
      ),
    },
    changes: { "four kinds of change": await realChanges() },
    problems: await realProblems(),
  };
}

async function realChanges(): Promise<RealExample> {
  await using site = await startSite({
    "posts/a.md": "# A\n",
    "posts/b.md": "# B\n",
    "posts/c.md": "# C\n",
  });
  const since = await site.repository.head();
  await site.repository.commit({
    "posts/a.md": "# A, again\n",
    "posts/b.md": null,
    "posts/c.md": null,
    "posts/2026/c.md": "# C\n",
    "posts/d.md": "# D\n",
  });
  const path = changesPath({ since });
  return { "x-request": path, value: await site.service.changes({ since }) };
}

/** Requests that cause a problem, by its code. */
export const PROBLEMS: Readonly<Record<string, string>> = {
  "invalid-parameters": listPath({ page: 0, limit: 1001 }),
  "repository-not-found": listPath({ repo: "none" }),
  "branch-not-found": listPath({ branch: "none" }),
  "collection-not-found": listPath({ collection: "post" }),
  "since-unknown": changesPath({ since: "0".repeat(40) }),
  "item-not-found": itemPath({ path: "posts" }),
  "slug-ambiguous": itemPath({ collection: "more", slug: "twice" }),
  "history-unavailable": listPath({ includeHistory: true }),
  "item-too-large": itemPath({ path: "more/large.bin" }),
};

async function realProblems(): Promise<Record<string, ProblemBody>> {
  await using site = await startSite({
    "posts/a.md": "# A\n",
    "more/twice.json": "{}",
    "more/twice.txt": "",
    "more/large.bin": new Uint8Array((1 << 20) + 1),
  }, { env: { MAX_ITEM_MB: "1" } });
  const problems: Record<string, ProblemBody> = {};
  for (const [code, path] of Object.entries(PROBLEMS)) {
    const problem = await site.service.problem(path);
    problems[code] = JSON.parse(
      JSON.stringify(problem).replaceAll(problem.requestId, REQUEST_ID),
    );
  }
  return problems;
}
