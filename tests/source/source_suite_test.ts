import { GithubDouble } from "../github/github_double.ts";
import { LocalSource } from "../../lib/source/local/local_source.ts";
import type { Source } from "../../lib/source/source.ts";
import { openCached, openGitHub, type OpenOptions } from "./open_github.ts";
import { type OpenedSource, type SampleRepository, testSource } from "./source_suite.ts";

type Open = (double: GithubDouble, options: OpenOptions) => Source;

/** Puts the sample behind a double, and an implementation before it. */
function over(open: Open, options: Omit<OpenOptions, "clock"> & { isCached: boolean }) {
  return (sample: SampleRepository): OpenedSource => {
    const { isCached, ...rest } = options;
    const double = new GithubDouble(sample.clock.now);
    double.add(`Octo/${sample.repo}`, sample.git);
    for (const token of options.tokens ?? []) double.addToken(token);
    return {
      source: open(double, { clock: sample.clock, ...rest }),
      name: { owner: "octo", repo: sample.repo },
      isCached,
      [Symbol.asyncDispose]: () => double[Symbol.asyncDispose](),
    };
  };
}

testSource("GitHubSource without a token", over(openGitHub, { isCached: false }));
testSource("GitHubSource by the API alone", over(openGitHub, { raw: false, isCached: false }));
testSource("GitHubSource with a token", over(openGitHub, { tokens: ["t1"], isCached: false }));
testSource("CachedSource without a token", over(openCached, { isCached: true }));
testSource("CachedSource with a token", over(openCached, { tokens: ["t1"], isCached: true }));
testSource("LocalSource", (sample) => ({
  source: new LocalSource({ root: sample.root, now: sample.clock.now }),
  name: { owner: "local", repo: sample.repo },
  isCached: true,
  [Symbol.asyncDispose]: () => Promise.resolve(),
}));
