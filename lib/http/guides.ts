// The project's documents as pages. The content thread renders them as it
// renders the Markdown of a repository. Each is rendered once.

import { escapeMarkup, joinHtml, type Rendered } from "../content/rendered.ts";
import { renderTask } from "../content/tasks.ts";
import { problem } from "../errors.ts";
import type { Compute } from "../thread/compute.ts";
import type { HttpContext } from "./state.ts";
import { pageResponse } from "./static_files.ts";

/** Files and titles by the names that are their addresses. */
const DOCUMENTS: ReadonlyMap<string, readonly [file: string, title: string]> =
  new Map([
    ["guides", ["docs/guides.md", "Guides"]],
    ["api", ["docs/api.md", "The API"]],
    ["client", ["packages/client/README.md", "The client"]],
    ["operations", ["docs/operations.md", "Operations"]],
    ["growing", ["docs/growing.md", "Growing"]],
    ["caching", ["docs/caching.md", "Caching"]],
    ["limits", ["docs/limits.md", "Limits"]],
    ["performance", ["docs/performance.md", "Performance"]],
    ["security", ["SECURITY.md", "Security"]],
  ]);
const ROOT = new URL("../../", import.meta.url);
/** Where documents lead to files that are not pages of the service. */
const REPOSITORY =
  "https://github.com/repo-collections/repo-collections/blob/HEAD";

/**
 * Responds with a document. `root` leads from the page to the pages of the
 * service.
 * @throws {CollectionsError} route-not-found if there is no such document.
 */
export function guideResponse(
  context: HttpContext,
  compute: Compute,
  { name, root }: { readonly name: string; readonly root: string },
): Promise<Response> {
  const [file, title] = DOCUMENTS.get(name) ?? [];
  if (file === undefined || title === undefined) {
    throw problem("route-not-found", {});
  }
  const values = async () => {
    const { html, headings } = await render(file, root, compute);
    const sections = headings.filter(({ depth }) => depth === 2);
    return {
      root,
      title,
      content: html,
      documents: [...DOCUMENTS].map(([other, [, title]]) => {
        const current = other === name ? ' aria-current="page"' : "";
        return `<li><a href="${
          addressOf(other, root)
        }"${current}>${title}</a></li>`;
      }).join(""),
      sections: sections.map(({ id, text }) =>
        `<li><a href="#${id}">${escapeMarkup(text)}</a></li>`
      ).join(""),
    };
  };
  return pageResponse(context, "guide.html", values, `${name} ${root}`);
}

async function render(file: string, root: string, compute: Compute) {
  const bytes = await Deno.readFile(new URL(file, ROOT));
  const input = { repository: "guides", files: [{ id: file, bytes }] };
  const { results: [json] } = await compute.run(renderTask, input, {
    client: "guides",
    isLong: true,
  });
  if (!(json instanceof Uint8Array)) {
    throw new Error(`Cannot render "${file}": ${json ?? "it takes too long"}`);
  }
  const rendered: Rendered = JSON.parse(new TextDecoder().decode(json));
  const html = joinHtml(rendered, ({ path, fragment }) => {
    const { pathname } = new URL(path, `file:///${file}`);
    const found = [...DOCUMENTS].find(([, [other]]) =>
      `/${other}` === pathname
    );
    return found === undefined
      ? REPOSITORY + pathname + fragment
      : addressOf(found[0], root) + fragment.replace(/^#/, "#user-content-");
  });
  return { html, headings: rendered.headings };
}

function addressOf(name: string, root: string): string {
  return name === "guides" ? `${root}/guides` : `${root}/guides/${name}`;
}
