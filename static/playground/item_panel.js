// One file: what it is, its front matter, and its content as a preview or as it stands.

import { h } from "./dom.js";
import { preview } from "./preview.js";
import { sourceBlock } from "./source_block.js";
import { stateUrl } from "./state.js";
import { sizeWords, typeWords } from "./words.js";

/** The panel for an item's content. */
export async function itemPanel(body, { state, rawUrl }) {
  const content = state.view === "raw"
    ? sourceView(body, rawUrl)
    : await preview(body, { state, rawUrl });
  return h(
    "article",
    { class: "file" },
    h(
      "header",
      {},
      h("h2", { tabindex: "-1" }, body.name),
      h(
        "p",
        { class: "meta" },
        `${typeWords(body.contentType)}, `,
        h("span", { title: `${body.size} bytes` }, sizeWords(body.size)),
        h("span", { title: `Git's blob id ${body.sha}` }, `, ${body.sha.slice(0, 7)}`),
      ),
      h(
        "nav",
        { class: "views", "aria-label": "Views" },
        view("Preview", "preview", state),
        view("Raw", "raw", state),
        h("a", { href: rawUrl, target: "_blank", rel: "noopener" }, "Open file"),
        body.htmlUrl
          ? h(
            "a",
            { href: body.htmlUrl, target: "_blank", rel: "noopener noreferrer" },
            "On the web",
          )
          : null,
      ),
    ),
    state.view === "raw" ? null : frontMatterTable(body),
    content,
  );
}

/** What stands in the panel's place while the first answer is on its way. */
export function itemSkeleton(path) {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return h(
    "article",
    { class: "file" },
    h("header", {}, h("h2", { tabindex: "-1" }, name), h("p", { class: "meta" }, "Loading…")),
    h("div", { class: "skeleton", "aria-hidden": "true" }),
  );
}

function view(label, name, state) {
  return h(
    "a",
    {
      href: stateUrl({ ...state, view: name }),
      "aria-current": state.view === name ? "true" : null,
    },
    label,
  );
}

/** The file's text, nothing interpreted. */
function sourceView({ encoding, content }, rawUrl) {
  if (encoding === "base64") {
    return h(
      "p",
      { class: "empty" },
      "These bytes are no text. ",
      h("a", { href: rawUrl, download: true }, "Save the file"),
      ".",
    );
  }
  return sourceBlock(content);
}

function frontMatterTable({ frontMatter, frontMatterError }) {
  if (frontMatterError) {
    return h(
      "p",
      { class: "notice" },
      `The front matter does not parse: ${frontMatterError.message} (line ${frontMatterError.line})`,
    );
  }
  const fields = Object.entries(frontMatter ?? {});
  if (fields.length === 0) return null;
  return h(
    "table",
    { class: "front-matter" },
    h("caption", {}, "Front matter"),
    h(
      "tbody",
      {},
      fields.map(([name, value]) =>
        h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, valueOf(value)))
      ),
    ),
  );
}

function valueOf(value) {
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) {
    return value.map((one) => h("span", { class: "tag" }, String(one)));
  }
  if (typeof value === "object" && value !== null) {
    return h("pre", {}, JSON.stringify(value, null, 2));
  }
  return typeof value === "string" ? value : h("code", {}, String(value));
}
