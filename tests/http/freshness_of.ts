// The headers of a list about its age, in a form that is short to compare; and
// the wait for compression, which runs in the background.

import { assertEquals } from "@std/assert";
import type { ItemBody } from "../../lib/api/contract.ts";
import { listPath, type TestService } from "../service.ts";
import type { Site } from "../site.ts";

/**
 * The slugs of a list, its `Cache-Status` without the cache's name, and its
 * `Age`; status and code of a problem.
 */
export async function freshnessOf(site: Site, path = listPath()) {
  const response = await site.service.get(path);
  const { items, code } = await response.json();
  const { headers, status } = response;
  if (status !== 200) return [status, code];
  assertEquals(headers.get("cache-control"), "public, max-age=60");
  const slugs = (items as ItemBody[]).map(({ slug }) => slug).join(" ");
  return [
    slugs,
    headers.get("cache-status")!.replace("collections; ", ""),
    headers.get("age"),
  ];
}

/**
 * Resolves when a cached response has its gzip coding. @throws {Error} when it
 * never gets one.
 */
export async function gzipReady(
  { services: { responses } }: TestService,
  path: string,
) {
  for (let n = 0; n < 2_000; n++) {
    if (responses.fresh(`http://localhost:8000${path}`)?.body.gzip) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  throw new Error(`Cannot find "${path}" in gzip: it is not cached`);
}
