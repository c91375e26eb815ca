// The bodies of the wire contract. Types derive from these schemas, and so does the OpenAPI document.

import { z } from "zod";
import { MAX_NAMED } from "../errors.ts";

const sha = z.string().regex(/^[0-9a-f]{40}$/);

/** Which state of which repository a response shows. */
const repositoryBody = z.object({
  owner: z.string().describe("As the caller spelled it."),
  repo: z.string().describe("As the caller spelled it."),
  branch: z.string(),
  commit: sha.describe(
    "The commit that the branch was at; for a local folder, the Git tree id of its files.",
  ),
}).meta({ id: "Repository" });

const encoding = z.enum(["utf-8", "base64"]).describe(
  "`utf-8` when the bytes are valid UTF-8 without a NUL byte, else `base64`.",
);

/** The fields that both operations have for a file. */
const file = z.object({
  name: z.string(),
  path: z.string().describe("From the repository's root."),
  sha: sha.describe("Git's blob id."),
  size: z.int().min(0).describe("In bytes; of the file itself, where `lfs` is there."),
  lfs: z.object({
    oid: z.string().regex(/^[0-9a-f]{64}$/).describe("SHA-256 of the file."),
    size: z.int().min(0).describe("In bytes."),
  }).meta({ id: "LfsPointer" }).optional().describe(
    "For a Git LFS pointer, once the service has read it. A list that reads no files may lack it.",
  ),
  contentType: z.string(),
  contentUrl: z.url().optional().describe("Absent for a path that get-item-content cannot take."),
  htmlUrl: z.url().optional().describe("Absent for a source without web pages."),
});

/** Why an item of a page has no content. */
export const itemErrorBody = z.object({
  code: z.enum([
    "item-not-found",
    "item-too-large",
    "page-too-large",
    "source-failed",
    "source-timeout",
    "source-rate-limited",
  ]),
  detail: z.string(),
}).meta({ id: "ItemError" });

/** What front matter and `includeHtml` add to a file. */
const derivedFields = {
  frontMatter: z.record(z.string(), z.unknown()).optional().describe(
    "The front matter, YAML 1.2 or TOML, as JSON.",
  ),
  frontMatterError: z.object({
    message: z.string(),
    line: z.int().min(1).describe("Counted in the file, from 1."),
  }).meta({ id: "FrontMatterError" }).optional(),
  body: z.string().optional().describe("What follows the front matter."),
  html: z.string().optional().describe(
    "GitHub Flavored Markdown as sanitized HTML; every id and name begins with `user-content-`.",
  ),
  headings: z.array(
    z.object({ depth: z.int().min(1).max(6), id: z.string(), text: z.string() }),
  ).optional().describe("Each id as it is in `html`."),
  excerpt: z.string().optional().describe("The beginning of the first paragraph."),
  words: z.int().min(0).optional(),
  htmlError: z.object({ message: z.string() }).optional().describe("Why Markdown has no `html`."),
};

/** One item of a list, without `fields`. */
const itemBody = file.extend({
  slug: z.string().describe("The path inside the collection, without its extension."),
  encoding: encoding.optional(),
  content: z.string().optional(),
  ...derivedFields,
  error: itemErrorBody.optional(),
});

/** An item beside another one. */
const neighborBody = itemBody
  .pick({ name: true, path: true, slug: true, contentUrl: true, frontMatter: true })
  .meta({ id: "Neighbor" });

/** How many items have a value. */
const facetBody = z.object({
  value: z.union([z.string(), z.number(), z.boolean()]),
  count: z.int().min(1),
}).meta({ id: "FacetValue" });

/** The body of `GET /api/list-collection-items`. */
export const listBody = z.object({
  repository: repositoryBody,
  collection: z.object({
    name: z.string(),
    path: z.string(),
    source: z.string().optional().describe(
      "The configuration file that declares the collection, where that is how it was found.",
    ),
  }).meta({ id: "Collection" }),
  items: z.array(
    itemBody.partial().meta({
      id: "Item",
      description:
        "With `fields`, only its keys; else everything that is not an `include…` is there.",
    }),
  ),
  pagination: z.object({
    page: z.int().min(1),
    limit: z.int().min(1),
    totalItems: z.int().min(0),
    totalPages: z.int().min(0),
    hasNext: z.boolean(),
    hasPrevious: z.boolean(),
  }).meta({ id: "Pagination" }),
  links: z.object({
    self: z.url(),
    first: z.url(),
    previous: z.url().nullable(),
    next: z.url().nullable(),
    last: z.url(),
  }).meta({ id: "Links" }),
  facets: z.record(z.string(), z.array(facetBody)).optional().describe(
    "The values of each key of `facets`, over the whole filtered list.",
  ),
  warnings: z.array(z.string()).optional().describe(
    "Configuration files that were skipped and files that were left out, and why.",
  ),
}).meta({ id: "ItemPage" });

/** The body of `GET /api/get-item-content`. */
export const contentBody = z.object({ repository: repositoryBody }).extend(file.shape).extend({
  encoding,
  content: z.string(),
  ...derivedFields,
  previous: neighborBody.nullable().optional().describe("With `includeNeighbors`."),
  next: neighborBody.nullable().optional().describe("With `includeNeighbors`."),
}).meta({ id: "ItemContent" });

/** The body of every error (RFC 9457). */
export const problemBody = z.object({
  type: z.url(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
  requestId: z.string(),
  errors: z.array(z.object({ parameter: z.string(), message: z.string() })).max(MAX_NAMED)
    .optional(),
  suggestions: z.array(z.string()).max(5).optional(),
  paths: z.array(z.string()).max(MAX_NAMED).optional(),
  size: z.int().optional(),
  maxBytes: z.int().optional(),
  htmlUrl: z.url().optional(),
  retryAfterSeconds: z.int().optional(),
}).meta({ id: "Problem" });

/** One item of a {@linkcode ListBody}. */
export type ItemBody = z.infer<typeof itemBody>;
/** See {@linkcode listBody}; the type is that of a list without `fields`. */
export type ListBody = Omit<z.infer<typeof listBody>, "items"> & { items: ItemBody[] };
/** An item beside another one. */
export type NeighborBody = z.infer<typeof neighborBody>;
/** The facets of a {@linkcode ListBody}. */
export type FacetsBody = NonNullable<ListBody["facets"]>;
/** See {@linkcode contentBody}. */
export type ContentBody = z.infer<typeof contentBody>;
/** See {@linkcode problemBody}. */
export type ProblemBody = z.infer<typeof problemBody>;
