// A blog: the newest posts, and one of them where the address ends with "#" and
// its slug.

import { CollectionsClient } from "@repo-collections/client";
import DOMPurify from "dompurify";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const client = new CollectionsClient(import.meta.env.VITE_COLLECTIONS_URL ?? "http://localhost:8000");
const posts = client.collection<{ title: string; date: string }>({ owner: "local", repo: "blog", collection: "posts" });

const listPosts = (signal: AbortSignal) =>
  posts.all({
    sort: "-frontMatter.date",
    filter: { name: "*.md", "frontMatter.draft": "!true" },
    fields: ["slug", "excerpt", "frontMatter.title"],
  }, { signal });

const readPost = (slug: string) => (signal: AbortSignal) =>
  posts.bySlug(slug, { includeHtml: true, linkTemplate: "#{slug}" }, { signal });

/** What a request gives; it is stopped where another takes its place. */
function useAnswer<Answer>(key: string, send: (signal: AbortSignal) => Promise<Answer>) {
  const [state, setState] = useState<{ key: string; answer?: Answer; error?: Error }>();
  useEffect(() => {
    const stopped = new AbortController();
    send(stopped.signal).then(
      (answer) => setState({ key, answer }),
      (error) => stopped.signal.aborted || setState({ key, error }),
    );
    return () => stopped.abort();
  }, [key]);
  const { answer, error } = state?.key === key ? state : {};
  return { answer, problem: error && <p role="alert">{error.message}</p> };
}

function Index() {
  const { answer, problem } = useAnswer("", listPosts);
  return problem ?? answer?.map(({ slug, excerpt, frontMatter }) => (
    <article key={slug}>
      <h2><a href={`#${encodeURI(slug)}`}>{frontMatter?.title ?? slug}</a></h2>
      <p>{excerpt}</p>
    </article>
  ));
}

function Post({ slug }: { slug: string }) {
  const { answer, problem } = useAnswer(slug, readPost(slug));
  const html = DOMPurify.sanitize(answer?.html ?? "");
  return problem ?? <article dangerouslySetInnerHTML={{ __html: html }} />;
}

const slugOf = () => decodeURI(location.hash.slice(1));
function App() {
  const [slug, setSlug] = useState(slugOf);
  useEffect(() => addEventListener("hashchange", () => setSlug(slugOf())), []);
  return <><nav><a href="#">All posts</a></nav>{slug ? <Post slug={slug} /> : <Index />}</>;
}

createRoot(document.getElementById("root")!).render(<App />);
