import { parseListQuery } from "../../lib/api/parameters.ts";
import { listItems } from "../../lib/collections/list_items.ts";
import { dataHandlers } from "../../lib/http/data_pipeline.ts";

/** `GET /api/list-collection-items`: one page of a collection's items. */
export const handler = dataHandlers(parseListQuery, listItems);
