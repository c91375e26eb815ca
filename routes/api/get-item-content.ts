import { parseItemQuery } from "../../lib/api/parameters.ts";
import { readItem } from "../../lib/collections/read_item.ts";
import { dataHandlers } from "../../lib/http/data_pipeline.ts";

/** `GET /api/get-item-content`: one file as JSON or as raw bytes. */
export const handler = dataHandlers(parseItemQuery, readItem);
