import Link from "next/link";
import { posts, published } from "./posts.js";

// A push shows after a minute, without a build.
export const revalidate = 60;

export default async function Index() {
  const fields = ["slug", "excerpt", "frontMatter.title"];
  const items = await posts.all({ ...published, fields });
  return (
    <>
      <h1>Blog</h1>
      {items.map(({ slug, excerpt, frontMatter }) => (
        <article key={slug}>
          <h2><Link href={`/${encodeURI(slug)}`}>{frontMatter?.title ?? slug}</Link></h2>
          <p>{excerpt}</p>
        </article>
      ))}
    </>
  );
}
