// The published files of npm packages that pages load, by a fixed table of names: nothing else of node_modules can be
// reached, and nothing of it is copied into the project.

/** Where a vendor file is, from the project's root, and its type. */
export interface VendorFile {
  readonly file: string;
  readonly contentType: string;
}

const JAVASCRIPT = "text/javascript; charset=utf-8";
const CSS = "text/css; charset=utf-8";

/** By the name after `/vendor/`. */
export const VENDOR_FILES: ReadonlyMap<string, VendorFile> = new Map([
  ["marked.js", { file: "node_modules/marked/lib/marked.esm.js", contentType: JAVASCRIPT }],
  ["dompurify.js", { file: "node_modules/dompurify/dist/purify.es.mjs", contentType: JAVASCRIPT }],
  ["swagger-ui.js", {
    file: "node_modules/swagger-ui-dist/swagger-ui-bundle.js",
    contentType: JAVASCRIPT,
  }],
  ["swagger-ui.css", { file: "node_modules/swagger-ui-dist/swagger-ui.css", contentType: CSS }],
]);

/** A new version of a package comes with a new start of the service; an hour is no long wait for it. */
export const VENDOR_MAX_AGE_SECONDS = 3600;
