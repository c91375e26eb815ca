import { define } from "../lib/http/state.ts";
import { pageResponse } from "../lib/http/static_files.ts";

/** `GET /reference`: the OpenAPI document as a page. */
export const handler = define.handlers({
  GET: ({ state: { context } }) => pageResponse(context, { name: "reference.html" }),
});
