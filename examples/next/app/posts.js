import { CollectionsClient } from "@repo-collections/client";

const client = new CollectionsClient(process.env.COLLECTIONS_URL ?? "http://localhost:8000");
export const posts = client.collection({ owner: "local", repo: "blog", collection: "posts" });

export const published = {
  sort: "-frontMatter.date",
  filter: { name: "*.md", "frontMatter.draft": "!true" },
};
