// The work over content that the content thread does. Each function is loaded where it runs.

import type { Task } from "../thread/compute.ts";
import type { Missing } from "./derived.ts";
import type { DescribeInput, Description } from "./describe.ts";

/** A task that is one piece of work. */
function whole<Input, Output>(
  name: string,
  load: () => Promise<(input: Input) => Output>,
): Task<Input, Output> {
  return {
    name,
    async load() {
      const work = await load();
      return (input, pace) => pace.within(() => work(input));
    },
  };
}

/** The front matter of files, which the thread keeps. */
export const deriveTask = {
  name: "derive",
  load: async () => (await import("./derive.ts")).derive,
};

/** Markdown as HTML whose addresses are open. */
export const renderTask = {
  name: "render",
  load: async () => (await import("./render.ts")).render,
};

/** The items of a page, as JSON. */
export const describeTask: Task<DescribeInput, Description | Missing> = {
  ...whole("describe", async () => (await import("./describe.ts")).describe),
  transfer: (output) => "json" in output ? [output.json.buffer] : [],
};

/** Which files a list has. */
export const selectTask = whole("select", async () => (await import("./select.ts")).select);

/** The items with a slug. */
export const findSlugTask = whole("find-slug", async () => (await import("./select.ts")).findSlug);

/** The collections that a configuration declares. */
export const declarationsTask = whole(
  "declarations",
  async () => (await import("./cms.ts")).readConfig,
);

/** One list of the answers of which it was assembled. */
export const joinListsTask = whole(
  "join-lists",
  async () => (await import("./join_lists.ts")).joinLists,
);

/** Names that are like one that leads nowhere. */
export const suggestTask = whole("suggest", async () => (await import("./suggest.ts")).suggest);
