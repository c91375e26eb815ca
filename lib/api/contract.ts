// The bodies of the wire contract. Their types come from the client that the
// service publishes. A test compares them with the OpenAPI document.

import { z } from "zod";
import type { ItemPage } from "../../packages/client/client.ts";

export type {
  ChangedFile as ChangedFileBody,
  Collection as CollectionBody,
  CollectionField as FieldBody,
  Folder as FolderBody,
  Item as ItemBody,
  ItemContent as ContentBody,
  ItemPage as ListBody,
  Neighbor as NeighborBody,
  Problem as ProblemBody,
  RenamedFile as RenamedFileBody,
} from "../../packages/client/client.ts";

/** The facets of a list. */
export type FacetsBody = NonNullable<ItemPage["facets"]>;

/** Why an item of a page has no content. */
export const itemErrorBody = z.object({
  code: z.enum([
    "item-not-found",
    "item-too-large",
    "page-too-large",
    "source-failed",
    "source-timeout",
    "source-rate-limited",
  ]),
  detail: z.string(),
}).meta({ id: "ItemError" });
