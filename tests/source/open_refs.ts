// `octo/site` at a double, and processes that resolve its refs through the
// caches, all over one store.

import { CollectionsError } from "../../lib/errors.ts";
import type { RequestContext } from "../../lib/source/source.ts";
import { serveRepository } from "../github/served_repository.ts";
import { TestClock } from "../test_clock.ts";
import {
  openCached,
  type OpenOptions,
  openStore,
  uncharged,
} from "./open_github.ts";

interface Query {
  readonly owner?: string;
  readonly repo?: string;
  readonly branch?: string | null;
  readonly context?: RequestContext;
}

/**
 * Repositories that are allowed by name: a check is one request, since
 * visibility does not matter.
 */
export const NAMED = { allowed: "octo/*" };

/** Opens the double, the store and a first process. */
export async function openRefs(options: Omit<OpenOptions, "clock"> = {}) {
  const clock = new TestClock();
  const served = await serveRepository({ "a.md": "A\n", "b.md": "B\n" }, {
    now: clock.now,
  });
  const { gh, repository } = served;
  gh.quota(null).remaining = 100_000;
  for (const token of options.tokens ?? []) gh.addToken(token);
  const store = await openStore(clock);
  const start = (other: Omit<OpenOptions, "clock"> = {}) => {
    const kv = store.tier();
    const cached = openCached(gh, { clock, kv, ...options, ...other });
    const resolve = async (
      { owner = "octo", repo = "site", branch = null, context }: Query = {},
    ) => {
      try {
        return await cached.resolve(
          { owner, repo, branch },
          context ?? uncharged,
        );
      } finally {
        await kv.flush();
      }
    };
    /** The freshness of the snapshot, or the code of the error. */
    const outcome = async (query?: Query): Promise<string> => {
      try {
        return (await resolve(query)).freshness;
      } catch (error) {
        if (error instanceof CollectionsError) return error.code;
        throw error;
      }
    };
    return { cached, resolve, outcome };
  };
  const first = start();
  const { refs } = first.cached;
  const statuses = () => gh.requests.map(({ status }) => status);
  return {
    ...first,
    clock,
    gh,
    git: repository,
    store,
    start,
    statuses,
    refreshDue: () => refs.refreshDue(() => true),
    /** Makes these branches, which count as in use from now on. */
    async use(...branches: string[]) {
      for (const branch of branches) await repository.branch(branch);
      for (const branch of branches) await first.resolve({ branch });
      clock.advance(1);
      for (const branch of branches) await first.resolve({ branch });
    },
    /** What some work costs, by the status of each request. */
    async cost(work: () => Promise<unknown>) {
      gh.resetCounts();
      await work();
      return statuses();
    },
    async [Symbol.asyncDispose]() {
      await refs.close();
      store[Symbol.dispose]();
      await served[Symbol.asyncDispose]();
    },
  };
}

/** What {@linkcode openRefs} opens. */
export type OpenedRefs = Awaited<ReturnType<typeof openRefs>>;
