import { parseChangesQuery } from "../../lib/api/parameters.ts";
import { listChanges } from "../../lib/collections/list_changes.ts";
import { dataHandlers } from "../../lib/http/data_pipeline.ts";

/** `GET /api/list-collection-changes`: what changed since a commit. */
export const handler = dataHandlers(parseChangesQuery, listChanges);
