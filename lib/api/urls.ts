// The addresses of this service's own responses. An address carries the known parameters in the contract's order, so it
// is also the cache key of the response.

import { DEFAULTS, type ItemParameters, type ListParameters } from "./parameters.ts";

type Value = string | number | boolean | readonly string[] | undefined;

/** The address of a page of items; `page` is always in it, other omitted ones are not. */
export function listUrl(baseUrl: string, given: ListParameters): string {
  return `${baseUrl}/api/list-collection-items?${
    encode({
      owner: given.owner,
      repo: given.repo,
      collection: given.collection === "" ? "/" : given.collection,
      branch: given.branch,
      page: given.page ?? DEFAULTS.page,
      limit: given.limit,
      includeContent: given.includeContent,
      includeFrontMatter: given.includeFrontMatter,
      includeHtml: given.includeHtml,
      linkTemplate: given.linkTemplate,
      sort: given.sort,
      recursive: given.recursive,
    }, given.filter)
  }${encodeMore({ fields: given.fields, facets: given.facets })}`;
}

/** The address of a file's content; parameters that change nothing are left out. */
export function itemUrl(baseUrl: string, given: ItemParameters): string {
  const { sort, recursive, filter } = given.includeNeighbors === true ? given : {};
  return `${baseUrl}/api/get-item-content?${
    encode({
      owner: given.owner,
      repo: given.repo,
      branch: given.branch,
      path: given.path,
      collection: given.collection === "" ? "/" : given.collection,
      slug: given.slug,
      includeHtml: given.includeHtml,
      linkTemplate: given.linkTemplate,
      includeNeighbors: given.includeNeighbors,
      sort,
      recursive,
    }, filter)
  }${encodeMore({ format: given.format === "raw" ? "raw" : undefined })}`;
}

/** `Link` header of a page (RFC 8288). */
export function linkHeader(
  links: { first: string; previous: string | null; next: string | null; last: string },
): string {
  const relations = [["first", links.first], ["prev", links.previous], ["next", links.next], [
    "last",
    links.last,
  ]];
  return relations.filter(([, url]) => url !== null).map(([rel, url]) => `<${url}>; rel="${rel}"`)
    .join(", ");
}

function encode(
  values: Readonly<Record<string, Value>>,
  filter: ListParameters["filter"] = [],
): string {
  return `${encodeMore(values)}${
    filter.map(([name, value]) => encodeMore({ [name]: value })).join("")
  }`.slice(1);
}

/** Each with an `&` in front. */
function encodeMore(values: Readonly<Record<string, Value>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `&${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join("");
}
