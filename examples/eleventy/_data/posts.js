// An Eleventy data file: the posts of a collection, newest first, each with its HTML.

import { CollectionsClient } from "@repo-collections/client";

const client = new CollectionsClient(process.env.COLLECTIONS_URL ?? "http://localhost:8000");

export default async function () {
  const posts = client.items({
    owner: "local",
    repo: "blog",
    collection: "posts",
    sort: "-frontMatter.date",
    filter: { name: "*.md", "frontMatter.draft": "!true" },
    fields: "slug,html,excerpt,frontMatter.title,frontMatter.date",
    linkTemplate: "/{slug}/",
  });
  const all = [];
  for await (const post of posts) all.push(post);
  return all;
}
