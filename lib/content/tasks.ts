// The work over content that the content thread does. Each function is loaded where it runs.

import type { Task } from "../thread/compute.ts";
import type { Declarations } from "./declared.ts";
import type { DeriveInput, DeriveOutput } from "./derived.ts";
import type { DescribedPart, DescribeInput } from "./describe.ts";
import type { ListPart } from "./join_lists.ts";
import type { RenderInput, RenderOutput } from "./render.ts";
import type { FindSlugInput, SelectInput, SelectOutput } from "./select.ts";
import type { SuggestInput } from "./suggest.ts";

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
export const deriveTask: Task<DeriveInput, DeriveOutput> = {
  name: "derive",
  load: async () => (await import("./derived.ts")).derive,
};

/** Which files the thread has no front matter of. */
export const lackingTask: Task<{ repository: string; ids: readonly string[] }, string[]> = whole(
  "lacking",
  async () => (await import("./derived.ts")).lacking,
);

/** Markdown as HTML whose addresses are open. */
export const renderTask: Task<RenderInput, RenderOutput> = {
  name: "render",
  load: async () => (await import("./render.ts")).render,
};

/** What a page says of its files, as JSON. */
export const describeTask: Task<DescribeInput, DescribedPart[] | null> = {
  ...whole("describe", async () => (await import("./describe.ts")).describe),
  transfer: (parts) => parts?.map(({ json }) => json.buffer) ?? [],
};

/** Which files a list has. */
export const selectTask: Task<SelectInput, SelectOutput> = whole(
  "select",
  async () => (await import("./select.ts")).select,
);

/** The items with a slug. */
export const findSlugTask: Task<FindSlugInput, { count: number; paths: string[] }> = whole(
  "find-slug",
  async () => (await import("./select.ts")).findSlug,
);

/** The collections that a configuration declares. */
export const declarationsTask: Task<{ path: string; bytes: Uint8Array }, Declarations> = whole(
  "declarations",
  async () => (await import("./cms.ts")).readConfig,
);

/** One list of the answers of which it was assembled. */
export const joinListsTask: Task<ListPart, Uint8Array> = whole(
  "join-lists",
  async () => (await import("./join_lists.ts")).joinLists,
);

/** Names that are like one that leads nowhere. */
export const suggestTask: Task<SuggestInput, string[]> = whole(
  "suggest",
  async () => (await import("./suggest.ts")).suggest,
);
