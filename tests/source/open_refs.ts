// `octo/site` at a double, and processes that resolve its refs through the caches, all over one store.

import { assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import type { RequestContext } from "../../lib/source/source.ts";
import { serveRepository } from "../github/served_repository.ts";
import { TestClock } from "../test_clock.ts";
import { openCached, type OpenOptions, openStore, uncharged } from "./open_github.ts";

interface Query {
  readonly owner?: string;
  readonly repo?: string;
  readonly branch?: string | null;
  readonly context?: RequestContext;
}

/** Opens the double, the store and a first process; tokens see every repository. */
export async function openRefs(options: Omit<OpenOptions, "clock"> = {}) {
  const clock = new TestClock();
  const served = await serveRepository({ "a.md": "A\n", "b.md": "B\n" }, { now: clock.now });
  const { gh, repository } = served;
  gh.setQuota(null, { remaining: 100_000 });
  for (const token of options.tokens ?? []) gh.addToken(token, { sees: "all" });
  const store = await openStore(clock);
  const start = (other: Omit<OpenOptions, "clock"> = {}) => {
    const kv = store.tier();
    const cached = openCached(gh, { clock, kv, ...options, ...other });
    return {
      cached,
      async resolve({ owner = "octo", repo = "site", branch = null, context }: Query = {}) {
        try {
          return await cached.resolve({ owner, repo, branch }, context ?? uncharged);
        } finally {
          await kv.flush();
        }
      },
    };
  };
  const { cached, resolve } = start();
  const statuses = () => gh.requests.map(({ status }) => status);
  return {
    ...{ clock, gh, git: repository, store, start, cached, resolve, statuses },
    refreshDue: () => cached.refs.refreshDue(),
    /** What some work costs, by the status of each request. */
    async cost(work: () => Promise<unknown>) {
      gh.resetCounts();
      await work();
      return statuses();
    },
    async [Symbol.asyncDispose]() {
      await cached.refs.close();
      store[Symbol.dispose]();
      await served[Symbol.asyncDispose]();
    },
  };
}

/** What {@linkcode openRefs} opens. */
export type OpenedRefs = Awaited<ReturnType<typeof openRefs>>;

/** The code with which resolving fails. */
export async function codeOf(resolving: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => resolving, CollectionsError)).code;
}
