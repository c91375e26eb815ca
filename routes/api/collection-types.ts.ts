import { parseTypesQuery } from "../../lib/api/parameters.ts";
import { collectionTypes } from "../../lib/collections/list_collections.ts";
import { dataHandlers } from "../../lib/http/data_pipeline.ts";

/** `GET /api/collection-types.ts`: TypeScript declarations of front matter. */
export const handler = dataHandlers(parseTypesQuery, collectionTypes);
