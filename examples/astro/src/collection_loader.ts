// An Astro content loader: the items of a collection become entries, their HTML is what `render()` gives.

import { CollectionsClient, type ListParameters } from "@repo-collections/client";
import type { Loader } from "astro/loaders";

/** Loads a collection from a service. Entries are named by their slugs; unchanged ones are reused between builds. */
export function collectionLoader(service: string, parameters: ListParameters): Loader {
  const client = new CollectionsClient(service);
  return {
    name: "repo-collections",
    async load({ store, parseData, logger }) {
      const gone = new Set(store.keys());
      const request = { ...parameters, includeFrontMatter: true, includeHtml: true };
      for await (const item of client.items(request)) {
        const { slug, sha, html, htmlError, body, headings, frontMatter } = item;
        if (htmlError !== undefined) logger.warn(`${item.path}: ${htmlError.message}`);
        if (html === undefined) continue;
        gone.delete(slug);
        if (store.get(slug)?.digest === sha) continue;
        const data = await parseData({ id: slug, data: frontMatter ?? {} });
        const astroHeadings = headings?.map(({ id, ...heading }) => ({ ...heading, slug: id }));
        store.set({
          id: slug,
          data,
          digest: sha,
          ...body !== undefined && { body },
          rendered: { html, metadata: { headings: astroHeadings ?? [] } },
        });
      }
      for (const id of gone) store.delete(id);
    },
  };
}
