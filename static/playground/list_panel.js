// The items of a page as a table, and the way to the other pages.

import { h } from "./dom.js";
import { stateUrl } from "./state.js";
import { frontMatterWords, sizeWords, typeWords } from "./words.js";

/** The panel for a page of items. */
export function listPanel(body, state) {
  const { items, pagination, collection } = body;
  if (items.length === 0) return emptyPanel(pagination, state);
  return h(
    "div",
    { class: "listing" },
    h(
      "table",
      {},
      h("caption", { tabindex: "-1" }, captionOf(body)),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "File"),
          h("th", { scope: "col", class: "type" }, "Type"),
          h("th", { scope: "col", class: "size" }, "Size"),
        ),
      ),
      h("tbody", {}, items.map((item) => row(item, { state, folder: collection.path }))),
    ),
    pager(pagination, state),
  );
}

/** Marks the row of the file that is shown. */
export function markCurrent(panel, path) {
  for (const link of panel.querySelectorAll("a[data-path]")) {
    const isCurrent = link.dataset.path === path;
    if (isCurrent) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    link.closest("tr").classList.toggle("current", isCurrent);
  }
}

/** What is listed, as a sentence. */
export function captionOf({ repository, collection, pagination, items }) {
  const { page, limit, totalItems } = pagination;
  const first = (page - 1) * limit + 1;
  const range = items.length === totalItems
    ? totalItems === 1 ? "1 file" : `${totalItems.toLocaleString("en")} files`
    : `Files ${first.toLocaleString("en")} to ${
      (first + items.length - 1).toLocaleString("en")
    } of ${totalItems.toLocaleString("en")}`;
  const folder = collection.path === "" ? "the whole repository" : collection.path;
  return `${range} in ${folder} at ${repository.branch}`;
}

function row(item, { state, folder }) {
  const shown = folder === "" ? item.path : item.path.slice(folder.length + 1);
  const slash = shown.lastIndexOf("/") + 1;
  const words = frontMatterWords(item.frontMatter, state.sort)
    .flatMap((text, at) => [at === 0 ? null : " · ", h("span", {}, text)]);
  const fault = item.error?.detail ?? item.frontMatterError?.message;
  return h(
    "tr",
    {},
    h(
      "td",
      {},
      h(
        "a",
        {
          href: stateUrl({ ...state, path: item.path, view: "preview" }),
          "data-path": item.path,
        },
        slash > 0 ? h("span", { class: "folder" }, shown.slice(0, slash)) : null,
        shown.slice(slash),
      ),
      words.length === 0 ? null : h("div", { class: "title" }, words),
      fault === undefined ? null : h("div", { class: "title error" }, fault),
    ),
    h("td", { class: "type" }, typeWords(item.contentType)),
    h("td", { class: "size", title: `${item.size} bytes` }, sizeWords(item.size)),
  );
}

function pager({ page, totalPages, hasNext, hasPrevious }, state) {
  if (totalPages <= 1 && !hasPrevious) return null;
  const to = (label, target, there) =>
    there
      ? h("a", { href: stateUrl({ ...state, page: String(target), path: "" }) }, label)
      : h("span", { class: "off" }, label);
  const last = Math.max(1, totalPages);
  return h(
    "nav",
    { class: "pager", "aria-label": "Pages" },
    to("First", 1, hasPrevious),
    to("Previous", Math.min(page - 1, last), hasPrevious),
    page <= last ? h("span", { class: "where" }, `Page ${page} of ${last}`) : null,
    to("Next", page + 1, hasNext),
    to("Last", last, hasNext),
  );
}

function emptyPanel(pagination, state) {
  const text = pagination.totalItems === 0
    ? state.filter === "" ? "There is no file in this collection." : "No file fits the filter."
    : `This page is past the end: there ${
      pagination.totalPages === 1 ? "is 1 page" : `are ${pagination.totalPages} pages`
    }.`;
  return h("div", { class: "listing" }, h("p", { class: "empty" }, text), pager(pagination, state));
}
