// Markdown of strangers: set by marked, cleaned by DOMPurify, and with every address led through this service. Nothing is
// loaded from elsewhere: a picture from another host becomes a link to it.

import DOMPurify from "../vendor/dompurify.js";
import { Marked } from "../vendor/marked.js";
import { itemParameters, operationUrl, stateUrl } from "./state.js";

const marked = new Marked({ gfm: true, async: false });
const REMOTE = /^([a-z][a-z0-9+.-]*:|\/\/)/i;

/** Markdown as a fragment that is safe to show; addresses in it are relative to the file at `state.path`. */
export function renderMarkdown(text, state) {
  const clean = (node) => cleanNode(node, state);
  DOMPurify.addHook("afterSanitizeAttributes", clean);
  try {
    return DOMPurify.sanitize(marked.parse(text), {
      USE_PROFILES: { html: true },
      RETURN_DOM_FRAGMENT: true,
      SANITIZE_NAMED_PROPS: true,
      FORBID_TAGS: ["style", "form", "button", "textarea", "select", "dialog", "video", "audio"],
      FORBID_ATTR: ["style", "srcset", "action", "background", "popover", "popovertarget"],
    });
  } finally {
    DOMPurify.removeHook("afterSanitizeAttributes", clean);
  }
}

/** Runs in a document where nothing loads, so an address is right before anybody follows it. */
function cleanNode(node, state) {
  if (node.nodeType !== Node.ELEMENT_NODE) return;
  // The page's own classes would let a text dress up as the page.
  if (node.hasAttribute("class") && !/^language-[\w+-]+$/.test(node.className)) {
    node.removeAttribute("class");
  }
  switch (node.localName) {
    case "a":
      return cleanLink(node, state);
    case "img":
      return cleanImage(node, state);
    case "input":
      // Task lists; any other input has no business here.
      if (node.type !== "checkbox") node.remove();
      else {
        node.disabled = true;
        node.setAttribute("aria-label", "done");
      }
      return;
    case "pre":
    case "table":
      // What scrolls sideways must be reachable by keyboard.
      node.tabIndex = 0;
  }
}

function cleanLink(link, state) {
  const href = link.getAttribute("href");
  if (href === null) return;
  if (REMOTE.test(href)) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
    return;
  }
  const path = resolvePath(href, state.path);
  if (path === null) link.removeAttribute("href");
  else link.setAttribute("href", stateUrl({ ...state, path, view: "preview" }));
}

function cleanImage(image, state) {
  const src = image.getAttribute("src") ?? "";
  if (REMOTE.test(src)) {
    const link = image.ownerDocument.createElement("a");
    link.href = src;
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
    link.textContent = `Picture elsewhere: ${image.alt || src}`;
    if (/^(https?:)?\/\//i.test(src)) image.replaceWith(link);
    else if (!/^data:image\//i.test(src)) image.remove();
    return;
  }
  const path = resolvePath(src, state.path);
  if (path === null) return image.remove();
  const parameters = itemParameters({ ...state, path }, "raw");
  image.setAttribute("src", operationUrl("get-item-content", parameters, document.baseURI));
  image.loading = "lazy";
}

/** The path in the repository that a relative address means, or null where it means a place on the same page. */
function resolvePath(address, from) {
  const folder = from.split("/").slice(0, -1).map(encodeURIComponent).join("/");
  const url = URL.parse(address, `http://repository/${folder === "" ? "" : `${folder}/`}`);
  if (url === null || address.startsWith("#")) return null;
  try {
    return decodeURIComponent(url.pathname.slice(1)).replace(/\/$/, "") || null;
  } catch {
    return null;
  }
}
