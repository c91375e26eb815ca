// The addresses of this service's own responses. An address carries the known parameters in the contract's order, so it
// is also the key under which a response is cached.

import { DEFAULTS, type ItemParameters, type ListParameters } from "./parameters.ts";

type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

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
      sort: given.sort,
      recursive: given.recursive,
    })
  }${(given.filter ?? []).map(([name, value]) => `&${encode({ [name]: value })}`).join("")}`;
}

/** The address of a file's content. */
export function itemUrl(
  baseUrl: string,
  { owner, repo, branch, path, format }: ItemParameters,
): string {
  return `${baseUrl}/api/get-item-content?${
    encode({ owner, repo, branch, path, format: format === "raw" ? "raw" : undefined })
  }`;
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

function encode(fields: Fields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value!)}`)
    .join("&");
}
