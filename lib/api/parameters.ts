// The parameters of both operations: the schemas that check a request are those that the OpenAPI document shows.
// Every parameter is text that goes through a pipe, never coerced: "1e2", " 5" and "0x1F" are no integers here. What is
// omitted stays undefined, since links leave it out too; `DEFAULTS` has what it then means.

import { z } from "zod";
import { parseSort } from "../collections/sort_items.ts";
import { branchProblem, collectionProblem, pathProblem, trimSlashes } from "./names.ts";

const encoder = new TextEncoder();

/** Text by a rule that gives null for what is good and a sentence for what is not. */
function text(rule: (value: string) => string | null) {
  return z.string().superRefine((value, context) => {
    const message = rule(value);
    if (message !== null) context.addIssue({ code: "custom", message });
  });
}

/** The rule of a parser that throws a SyntaxError. */
function problemOf(parse: (value: string) => unknown) {
  return (value: string): string | null => {
    try {
      parse(value);
      return null;
    } catch (error) {
      if (error instanceof SyntaxError) return error.message;
      throw error;
    }
  };
}

function integer(maximum: number) {
  return z.string()
    .regex(/^[1-9][0-9]{0,8}$/, "must be a whole number of 1 or more, in plain digits")
    .transform(Number)
    .pipe(z.number().max(maximum, `must be at most ${maximum}`));
}

const MAX_INTEGER = 999_999_999;

/** What omitted parameters mean. */
export const DEFAULTS = { page: 1, limit: 50 };

/** Greatest `limit` of a page, and of one that carries content. */
export const LIMITS = { page: 1000, contentPage: 100 };

const owner = text((value) =>
  /^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$/.test(value)
    ? null
    : "must be the name of a GitHub account: letters, digits and hyphens, at most 39"
).meta({
  description: "The account that owns the repository; `local` for folders of this deployment.",
  examples: ["local"],
  type: "string",
  minLength: 1,
  maxLength: 39,
});

const repo = text((value) =>
  /^[A-Za-z0-9._-]{1,100}$/.test(value) && !/^\.{1,2}$|\.git$/i.test(value)
    ? null
    : "must be the name of a GitHub repository: letters, digits, `.`, `_` and `-`, at most 100, without `.git`"
).meta({
  description: "The repository's name.",
  examples: ["blog"],
  type: "string",
  minLength: 1,
  maxLength: 100,
});

const branch = text(branchProblem).optional().meta({
  description:
    "A branch, else a tag, else a full commit id; `HEAD` is the default branch. Git's rules for names hold.",
  examples: ["main"],
  type: "string",
  default: "main",
  minLength: 1,
  maxLength: 255,
});

const flag = z.enum(["true", "false", "1", "0"], "must be true, false, 1 or 0")
  .transform((value) => value === "true" || value === "1")
  .optional();

/** Parameters of `GET /api/list-collection-items`, in the order of the contract's table. */
export const listParameters = z.object({
  owner,
  repo,
  collection: text(collectionProblem).transform(trimSlashes).meta({
    description:
      "A name or a folder path; outer slashes are dropped, `/` alone is the repository's root.",
    examples: ["posts"],
    type: "string",
    minLength: 1,
    maxLength: 1024,
  }),
  branch,
  page: integer(MAX_INTEGER).optional().meta({
    description: "Which page, from 1.",
    type: "integer",
    default: DEFAULTS.page,
    minimum: 1,
    maximum: MAX_INTEGER,
  }),
  limit: integer(LIMITS.page).optional().meta({
    description: "Items a page; at most 100 when content is included.",
    type: "integer",
    default: DEFAULTS.limit,
    minimum: 1,
    maximum: LIMITS.page,
  }),
  includeContent: flag.meta({
    description: "Whether each item carries its content.",
    type: "boolean",
    default: false,
  }),
  includeFrontMatter: flag.meta({
    description: "Whether each text item carries its front matter, without its content.",
    type: "boolean",
    default: false,
  }),
  sort: text(problemOf(parseSort)).optional().meta({
    description:
      "`path`, `name`, `size` or `frontMatter.<key>` (dots go deeper), with `-` in front for descending.",
    examples: ["-frontMatter.date"],
    type: "string",
    default: "path",
  }),
  recursive: flag.meta({
    description: "Whether files in sub-folders are items too.",
    type: "boolean",
    default: true,
  }),
});

/** Parameters of `GET /api/get-item-content`, in the order of the contract's table. */
export const itemParameters = z.object({
  owner,
  repo,
  branch,
  path: text((value) => {
    if (encoder.encode(value).length > 4096) return "must be at most 4096 bytes";
    return pathProblem(value);
  }).meta({
    description: "The path of one file, from the repository's root.",
    examples: ["posts/hello.md"],
    type: "string",
    minLength: 1,
    maxLength: 4096,
  }),
  format: z.enum(["json", "raw"], "must be json or raw").optional().meta({
    description: "`json` for the item with its content, `raw` for the bytes alone.",
    type: "string",
    enum: ["json", "raw"],
    default: "json",
  }),
});

/** A checked list request; `filter` has the parameters `filter[…]` as name and value, in the order given. */
export type ListParameters = z.infer<typeof listParameters> & {
  readonly filter?: readonly (readonly [name: string, value: string])[];
};

/** A checked item request. */
export type ItemParameters = z.infer<typeof itemParameters>;
