// Posts that are read when a page is requested, so that a push shows without a
// build.

import { type CollectionHandle, CollectionsClient, ProblemError } from "@repo-collections/client";
import { defineLiveCollection } from "astro:content";
import type { LiveLoader } from "astro/loaders";

type Post = { title: string; date: string; draft?: boolean };

/** Entries are named by their slugs. What is not published has none. */
function liveLoader(posts: CollectionHandle<Post>): LiveLoader<Post, { id: string }> {
  return {
    name: "repo-collections-live",
    async loadCollection() {
      try {
        const items = await posts.all({
          sort: "-frontMatter.date",
          filter: { name: "*.md", "frontMatter.draft": "!true" },
          fields: ["slug", "frontMatter"],
        });
        return { entries: items.map(({ slug, frontMatter }) => ({ id: slug, data: frontMatter! })) };
      } catch (error) {
        return { error: error as Error };
      }
    },
    async loadEntry({ filter }) {
      try {
        const { frontMatter, html = "" } = await posts.bySlug(filter.id, { includeHtml: true, linkTemplate: "/{slug}/" });
        if (!frontMatter || frontMatter.draft) return undefined;
        return { id: filter.id, data: frontMatter, rendered: { html } };
      } catch (error) {
        const isMissing = error instanceof ProblemError && error.code === "item-not-found";
        return isMissing ? undefined : { error: error as Error };
      }
    },
  };
}

// `reuse`: a page that nobody changed costs the service a 304.
const client = new CollectionsClient(process.env.COLLECTIONS_URL ?? "http://localhost:8000", { reuse: true });
const handle = client.collection<Post>({ owner: "local", repo: "blog", collection: "posts" });

export const collections = { posts: defineLiveCollection({ loader: liveLoader(handle) }) };
