import { openCached, openGitHub, type SourceOptions } from "./github_source.ts";
import { GithubDouble } from "../github/github_double.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Repository } from "../../lib/repository/repository.ts";
import {
  type OpenedRepository,
  type SampleRepository,
  testRepository,
} from "./repository_suite.ts";

type Open = (double: GithubDouble, options: SourceOptions) => Repository;

/** Puts the sample behind a double, and an implementation before it. */
function over(open: Open, options: Omit<SourceOptions, "clock"> & { keepsRefs: boolean }) {
  return async (sample: SampleRepository): Promise<OpenedRepository> => {
    const { keepsRefs, ...rest } = options;
    const double = await GithubDouble.start({ now: sample.now });
    double.add(`Octo/${sample.repo}`, sample.git);
    for (const token of options.tokens ?? []) double.addToken(token);
    const clock: Clock = { now: sample.now, sleep: () => Promise.resolve(), alarm: () => () => {} };
    return {
      repository: open(double, { clock, ...rest }),
      name: { owner: "octo", repo: sample.repo },
      keepsRefs,
      [Symbol.asyncDispose]: () => double.close(),
    };
  };
}

testRepository("GitHubRepository without a token", over(openGitHub, { keepsRefs: false }));
testRepository(
  "GitHubRepository by the API alone",
  over(openGitHub, { raw: false, keepsRefs: false }),
);
testRepository(
  "GitHubRepository with a token",
  over(openGitHub, { tokens: ["t1"], keepsRefs: false }),
);
testRepository("CachedRepository without a token", over(openCached, { keepsRefs: true }));
testRepository(
  "CachedRepository with a token",
  over(openCached, { tokens: ["t1"], keepsRefs: true }),
);
