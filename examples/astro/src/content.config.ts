import { defineCollection } from "astro:content";
import { z } from "astro/zod";
import { collectionLoader } from "./collection_loader.ts";

const service = import.meta.env.COLLECTIONS_URL ?? process.env.COLLECTIONS_URL ?? "http://localhost:8000";

const posts = defineCollection({
  loader: collectionLoader(service, {
    owner: "local",
    repo: "blog",
    collection: "posts",
    filter: { name: "*.md", "frontMatter.draft": "!true" },
    linkTemplate: "/{slug}/",
  }),
  schema: z.object({ title: z.string(), date: z.coerce.date(), tags: z.array(z.string()).default([]) }),
});

export const collections = { posts };
