// The bodies of the wire contract, for the OpenAPI document.
// client_types_test.ts compares them with the client's types.

import { z } from "zod";
import { itemErrorBody } from "../../lib/api/contract.ts";
import { MAX_NAMED } from "../../lib/errors.ts";

const text = z.string();
const optionalText = text.optional();
const url = z.url();
const count = z.int().min(0);
const positive = z.int().min(1);
const sha = text.regex(/^[0-9a-f]{40}$/);

/** Which state of which repository a response shows. */
const repositoryBody = z.object({
  owner: text.describe("As the caller spelled it."),
  repo: text.describe("As the caller spelled it."),
  branch: text,
  commit: sha.describe(
    "The commit that the branch was at; for a local folder, the Git tree id of its files.",
  ),
}).meta({ id: "Repository" });

const encoding = z.enum(["utf-8", "base64"]).describe(
  "`utf-8` when the bytes are valid UTF-8 without a NUL byte, else `base64`.",
);

/** A commit that changed a file. */
const changeBody = z.object({
  date: z.iso.datetime({ offset: true }).describe("When it was committed."),
  commit: sha,
  author: z.object({ name: text }).meta({ id: "ChangeAuthor" }),
  message: text.max(500).describe("The first line of the message."),
}).meta({ id: "Change" });

/** The fields that both operations have for a file. */
const file = z.object({
  name: text,
  path: text.describe("From the repository's root."),
  sha: sha.describe("Git's blob id."),
  size: count.describe("In bytes; of the file itself, where `lfs` is there."),
  lfs: z.object({
    oid: text.regex(/^[0-9a-f]{64}$/).describe("SHA-256 of the file."),
    size: count.describe("In bytes."),
  }).meta({ id: "LfsPointer" }).optional().describe(
    "For a Git LFS pointer, once the service has read it. A list that reads no files may lack it.",
  ),
  contentType: text,
  contentUrl: url.optional().describe(
    "Absent for a path that get-item-content cannot take.",
  ),
  htmlUrl: url.optional().describe("Absent for a source without web pages."),
  lastChanged: changeBody.optional().describe(
    "With `includeHistory`: the newest commit of the branch that changed the file. Absent where it could not be read.",
  ),
  created: changeBody.optional().describe(
    "With `includeHistory` on a single item: the oldest commit of the branch that changed this path.",
  ),
});

/** What front matter and `includeHtml` add to a file. */
const derivedFields = {
  frontMatter: z.record(text, z.unknown()).optional().describe(
    "The front matter, YAML 1.2 or TOML, as JSON.",
  ),
  frontMatterError: z.object({
    message: text,
    line: positive.describe("Counted in the file, from 1."),
  }).meta({ id: "FrontMatterError" }).optional(),
  data: z.unknown().optional().describe(
    "The value of a JSON, YAML or TOML file, or the row of a data file.",
  ),
  body: optionalText.describe("What follows the front matter."),
  html: optionalText.describe(
    "GitHub Flavored Markdown as sanitized HTML; every id and name begins with `user-content-`.",
  ),
  headings: z.array(
    z.object({ depth: positive.max(6), id: text, text }),
  ).optional().describe("Each id as it is in `html`."),
  excerpt: optionalText.describe("The beginning of the first paragraph."),
  words: count.optional(),
  mdxComponents: z.array(text).optional().describe(
    "The names of the components that MDX uses. In `html` a `div` or `span` with `data-component` stands for each use.",
  ),
  htmlError: z.object({ message: text }).optional().describe(
    "Why Markdown or MDX has no `html`.",
  ),
};

/** One item of a list, without `fields`. */
export const itemBody = file.extend({
  slug: text.describe("The path inside the collection, without its extension."),
  encoding: encoding.optional(),
  content: optionalText,
  ...derivedFields,
  match: z.object({
    score: z.number().describe("Greater is better, within one list."),
    snippet: text.describe("Escaped text with the hits in `<mark>`."),
  }).meta({ id: "Match" }).optional().describe("With `search`."),
  index: count.optional().describe("Of a row of a data file, from 0."),
  key: optionalText.describe("Of an entry of a mapping in a data file."),
  error: itemErrorBody.optional(),
});

/** An item beside another one. */
const neighborBody = itemBody
  .pick({
    name: true,
    path: true,
    slug: true,
    contentUrl: true,
    frontMatter: true,
  })
  .meta({ id: "Neighbor" });

/** How many items have a value. */
const facetBody = z.object({
  value: z.union([text, z.number(), z.boolean()]),
  count: positive,
}).meta({ id: "FacetValue" });

/** The body of `GET /api/list-collection-items`. */
export const listBody = z.object({
  repository: repositoryBody,
  collection: z.object({
    name: text,
    path: text,
    source: optionalText.describe(
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
    page: positive,
    limit: positive,
    totalItems: count,
    totalPages: count,
    hasNext: z.boolean(),
    hasPrevious: z.boolean(),
  }).meta({ id: "Pagination" }),
  links: z.object({
    self: url,
    first: url,
    previous: url.nullable(),
    next: url.nullable(),
    last: url,
  }).meta({ id: "Links" }),
  facets: z.record(text, z.array(facetBody)).optional().describe(
    "The values of each key of `facets`, over the whole filtered list.",
  ),
  warnings: z.array(text).optional().describe(
    "Configuration files that were skipped and files that were left out, and why; unknown parameters, which are ignored.",
  ),
}).meta({ id: "ItemPage" });

/** A field that a CMS configuration declares. */
const fieldBody = z.object({
  name: text,
  label: optionalText,
  type: text.describe("As the CMS names it; that of one value of a `list`."),
  required: z.boolean(),
  list: z.boolean().optional(),
  options: z.array(z.union([text, z.number(), z.boolean()])).optional()
    .describe("The values to choose from."),
  get fields() {
    return z.array(fieldBody).optional();
  },
}).meta({ id: "CollectionField" });

/** The body of `GET /api/list-collections`. */
export const collectionsBody = z.object({
  repository: repositoryBody,
  collections: z.array(
    z.object({
      name: text.describe("What lists and items take as `collection`."),
      label: optionalText,
      path: text,
      source: optionalText.describe(
        "The configuration file that declares it; absent for a folder that was found to hold content.",
      ),
      fields: z.array(fieldBody).optional(),
      items: count,
      kinds: z.object({
        markdown: positive.optional(),
        text: positive.optional(),
        data: positive.optional(),
        image: positive.optional(),
        other: positive.optional(),
      }).describe("How many items are of each kind."),
      schema: z.record(text, z.unknown()).optional().describe(
        "With `includeSchema`: JSON Schema 2020-12 of the front matter. Absent where there is too much to read.",
      ),
    }).meta({ id: "DescribedCollection" }),
  ),
  folders: z.array(
    z.object({ name: text, path: text, files: positive }).meta({
      id: "Folder",
    }),
  ).describe("Those directly in `path` that have files."),
  warnings: z.array(text).optional(),
}).meta({ id: "CollectionList" });

const changedFile = z.object({
  path: text.describe("From the repository's root."),
  sha: sha.describe("Git's blob id; of a removed file the last one."),
  size: count.describe("In bytes; that of the text of a Git LFS pointer."),
}).meta({ id: "ChangedFile" });

/** The body of `GET /api/list-collection-changes`. */
export const changesBody = z.object({
  repository: repositoryBody,
  since: sha,
  added: z.array(changedFile),
  changed: z.array(changedFile),
  removed: z.array(changedFile),
  renamed: z.array(
    changedFile.extend({
      from: text.describe("The path of a removed file with the same content."),
    }).meta({ id: "RenamedFile" }),
  ),
  warnings: z.array(text).optional().describe(
    "Unknown parameters, which are ignored.",
  ),
}).meta({ id: "CollectionChanges" });

/** The body of `GET /api/get-item-content`. */
export const contentBody = z.object({ repository: repositoryBody }).extend(
  file.shape,
).extend({
  encoding,
  content: text,
  ...derivedFields,
  warnings: z.array(text).optional().describe(
    "Unknown parameters, which are ignored.",
  ),
  previous: neighborBody.nullable().optional().describe(
    "With `includeNeighbors`.",
  ),
  next: neighborBody.nullable().optional().describe("With `includeNeighbors`."),
}).meta({ id: "ItemContent" });

/** The body of every error (RFC 9457). */
export const problemBody = z.object({
  type: url,
  title: text,
  status: z.int(),
  detail: text,
  code: text,
  requestId: text,
  errors: z.array(z.object({ parameter: text, message: text })).max(MAX_NAMED)
    .optional(),
  suggestions: z.array(text).max(5).optional(),
  paths: z.array(text).max(MAX_NAMED).optional(),
  size: z.int().optional(),
  maxBytes: z.int().optional(),
  htmlUrl: url.optional(),
  retryAfterSeconds: z.int().optional(),
}).meta({ id: "Problem" });
