// The tasks of the content thread. Each function is loaded on the thread that
// runs it.

import { type Task, whole } from "../thread/compute.ts";
import type { Delivery, DeliveryInput } from "./delivery.ts";
import type { derive } from "./derive.ts";
import type { describePage } from "./describe_page.ts";
import type { render } from "./render.ts";
import type { TableInput } from "./rows.ts";

/** Derives the front matter of files. The thread keeps it. */
export const deriveTask = {
  name: "derive",
  load: async () => (await import("./derive.ts")).derive,
  moveOutput: ({ selected }: ReturnType<typeof derive>) =>
    selected === undefined ? [] : [selected.indices.buffer as ArrayBuffer],
};

/** Renders Markdown to HTML. Relative addresses are not resolved yet. */
export const renderTask = {
  name: "render",
  load: async () => (await import("./render.ts")).render,
  moveOutput: ({ results }: ReturnType<typeof render>) =>
    results.flatMap((html) => typeof html === "string" ? [] : html.buffer),
};

/** Builds the items of a page as JSON. May derive their front matter first. */
export const describeTask = {
  name: "describe",
  load: async () => (await import("./describe_page.ts")).describePage,
  moveOutput: (output: ReturnType<typeof describePage>) =>
    "json" in output ? [output.json.buffer] : [],
};

/** Builds the items of a page that needs no files. */
export const describePlainTask = whole(
  "describe-plain",
  async () => (await import("./describe.ts")).describe,
);

/** Writes a feed. */
export const feedTask = whole(
  "feed",
  async () => (await import("./feed.ts")).writeFeed,
);

/** Writes a sitemap. */
export const sitemapTask = whole(
  "sitemap",
  async () => (await import("./feed.ts")).writeSitemap,
);

/** Selects the files of a list. */
export const selectTask = whole(
  "select",
  async () => (await import("./select.ts")).select,
);

/** Adds files to a search index. The thread keeps it. */
export const indexTask = {
  name: "index",
  load: async () => (await import("./search.ts")).indexFiles,
};

/** Searches the text of a collection. */
export const searchTask = {
  name: "search",
  load: async () => (await import("./search.ts")).search,
};

/** Parses the rows of a data file. The thread keeps them. */
export const tableTask: Task<TableInput, void> = {
  ...whole("table", async () => (await import("./rows.ts")).parseTable),
  moveInput: ({ bytes }) => [bytes.buffer],
};

/** Adds the rows of a data file to a search index. */
export const indexTableTask = {
  name: "index-table",
  load: async () => (await import("./rows.ts")).indexTable,
};

/** Lists the rows of a data file. */
export const rowsTask = {
  name: "rows",
  load: async () => (await import("./rows.ts")).listRows,
};

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

/** Describes the collections of a repository. */
export const collectionsTask = whole(
  "collections",
  async () => (await import("./collections.ts")).describeCollections,
);

/** Joins the parts of a listing. */
export const joinListsTask = whole(
  "join-lists",
  async () => (await import("./join_lists.ts")).joinLists,
);

/** Compares two lists of files. */
export const compareListsTask = whole(
  "compare-lists",
  async () => (await import("./changes.ts")).compareLists,
);

/** Suggests names that are similar to an unknown name. */
export const suggestTask = whole(
  "suggest",
  async () => (await import("./suggest.ts")).suggest,
);

/** Reads the payload of a webhook delivery. */
export const deliveryTask: Task<
  DeliveryInput,
  Delivery | "Content-Type" | "payload"
> = {
  ...whole(
    "delivery",
    async () => (await import("./delivery.ts")).readDelivery,
  ),
  moveInput: ({ body }) => [body.buffer],
};

/**
 * Forgets what no task has used for so many ms. Returns its bytes. It is short,
 * and a time limit could end it between two steps that belong together.
 */
export const forgetTask: Task<number, number> = {
  name: "forget",
  load: async () => (await import("./kept.ts")).forgetUnused,
};

/** Runs the code of sorted lists so that V8 compiles it. */
export const warmUpTask = {
  name: "warm-up",
  load: async () => (await import("./warm_up.ts")).warmUp,
};
