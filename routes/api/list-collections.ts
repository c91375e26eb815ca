import { parseCollectionsQuery } from "../../lib/api/parameters.ts";
import { listCollections } from "../../lib/collections/list_collections.ts";
import { dataHandlers } from "../../lib/http/data_pipeline.ts";

/** `GET /api/list-collections`: what a repository has, declared and found. */
export const handler = dataHandlers(parseCollectionsQuery, listCollections);
