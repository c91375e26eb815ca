import { notFound } from "next/navigation";
import { posts, published } from "../posts.js";

export const revalidate = 60;

export async function generateStaticParams() {
  const items = await posts.all({ ...published, fields: ["slug"] });
  return items.map(({ slug }) => ({ slug: slug.split("/") }));
}

export default async function Post({ params }) {
  const slug = (await params).slug.map(decodeURIComponent).join("/");
  const post = await posts.bySlug(slug, { includeHtml: true, linkTemplate: "/{slug}" })
    .catch((error) => error.code === "item-not-found" ? notFound() : Promise.reject(error));
  return <article dangerouslySetInnerHTML={{ __html: post.html ?? "" }} />;
}
