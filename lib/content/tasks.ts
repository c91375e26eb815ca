// The tasks of the content thread. Each function is loaded on the thread that
// runs it.

import type { Task } from "../thread/compute.ts";
import type { Missing } from "./derived.ts";
import type { DescribeInput, Description } from "./describe.ts";

/** Makes a task of a single piece of work. */
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

/** Derives the front matter of files. The thread keeps it. */
export const deriveTask = {
  name: "derive",
  load: async () => (await import("./derive.ts")).derive,
};

/** Renders Markdown to HTML. Relative addresses are not resolved yet. */
export const renderTask = {
  name: "render",
  load: async () => (await import("./render.ts")).render,
};

/** Builds the items of a page as JSON. */
export const describeTask: Task<DescribeInput, Description | Missing> = {
  ...whole("describe", async () => (await import("./describe.ts")).describe),
  transfer: (output) => "json" in output ? [output.json.buffer] : [],
};

/** Selects the files of a list. */
export const selectTask = whole(
  "select",
  async () => (await import("./select.ts")).select,
);

/** Finds the items with a slug. */
export const findSlugTask = whole(
  "find-slug",
  async () => (await import("./select.ts")).findSlug,
);

/** Reads the collections that a configuration declares. */
export const declarationsTask = whole(
  "declarations",
  async () => (await import("./cms.ts")).readConfig,
);

/** Joins the parts of a listing. */
export const joinListsTask = whole(
  "join-lists",
  async () => (await import("./join_lists.ts")).joinLists,
);

/** Suggests names that are similar to an unknown name. */
export const suggestTask = whole(
  "suggest",
  async () => (await import("./suggest.ts")).suggest,
);
