// Responses are compressed in the background, so a test waits for that before it relies on it.

import type { TestService } from "../service.ts";

const TRIES = 2_000;

/** Resolves when a cached response has its gzip coding. @throws {Error} when it never gets one. */
export async function gzipReady({ services: { responses } }: TestService, path: string) {
  for (let n = 0; n < TRIES; n++) {
    if (responses.fresh(`http://localhost:8000${path}`)?.body.gzip) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  throw new Error(`Cannot find "${path}" in gzip: it is not cached`);
}
