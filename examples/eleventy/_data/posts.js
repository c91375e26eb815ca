// An Eleventy data file: the posts of a collection, newest first, each with its HTML.

import { mkdir, writeFile } from "node:fs/promises";
import { CollectionsClient, savePictures } from "@repo-collections/client";

const client = new CollectionsClient(process.env.COLLECTIONS_URL ?? "http://localhost:8000");
const posts = client.collection({ owner: "local", repo: "blog", collection: "posts" });

const withPictures = savePictures(client, async ({ name, bytes }) => {
  await mkdir("_site/pictures", { recursive: true });
  await writeFile(`_site/pictures/${name}`, bytes);
  return `/pictures/${name}`;
});

export default async function () {
  const all = await posts.all({
    sort: "-frontMatter.date",
    filter: { name: "*.md", "frontMatter.draft": "!true" },
    fields: ["slug", "html", "excerpt", "frontMatter.title", "frontMatter.date"],
    linkTemplate: "/{slug}/",
  });
  for (const post of all) post.html = await withPictures(post.html);
  return all;
}
