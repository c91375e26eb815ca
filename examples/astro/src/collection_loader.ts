// An Astro content loader: the items of a collection become entries, their HTML
// is what `render()` gives.

import { CollectionsClient, type ListParameters, savePictures } from "@repo-collections/client";
import type { Loader } from "astro/loaders";
import { mkdir, writeFile } from "node:fs/promises";

/**
 * Loads a collection from a service. Entries are named by their slugs;
 * unchanged ones are reused between builds.
 */
export function collectionLoader(service: string, parameters: ListParameters): Loader {
  const client = new CollectionsClient(service);
  return {
    name: "repo-collections",
    async load({ store, parseData, generateDigest, logger, config }) {
      const folder = new URL("pictures/", config.publicDir);
      await mkdir(folder, { recursive: true });
      const withPictures = savePictures(client, async ({ name, bytes }) => {
        await writeFile(new URL(name, folder), bytes);
        return `${config.base.replace(/\/$/, "")}/pictures/${name}`;
      });
      const removed = new Set(store.keys());
      const request = { ...parameters, includeFrontMatter: true, includeHtml: true };
      for await (const item of client.items(request)) {
        const { slug, sha, body, headings, frontMatter } = item;
        const problem = item.error?.detail ?? item.htmlError?.message;
        if (problem !== undefined) {
          logger.warn(`${item.path}: ${problem}`);
          // The entry of the last build stays, since the next request may
          // succeed.
          removed.delete(slug);
        }
        if (item.html === undefined) continue;
        removed.delete(slug);
        // Also for entries of the last build, since the folder may be new.
        const html = await withPictures(item.html);
        // The HTML depends on where its links lead, too.
        const digest = generateDigest({ service, ...parameters, sha, html });
        if (store.get(slug)?.digest === digest) continue;
        const data = await parseData({ id: slug, data: frontMatter ?? {} });
        const astroHeadings = headings?.map(({ id, ...heading }) => ({ ...heading, slug: id }));
        store.set({
          id: slug,
          data,
          digest,
          ...body !== undefined && { body },
          rendered: { html, metadata: { headings: astroHeadings ?? [] } },
        });
      }
      for (const id of removed) store.delete(id);
    },
  };
}
