// Compressing happens off a request's path, so a test has to see it done before it can rely on it.

import type { TestService } from "../service.ts";

const TRIES = 2_000;

/** Resolves when the answer to a path that was asked before is kept in gzip too. @throws {Error} if it never is. */
export async function gzipReady(service: TestService, path: string): Promise<void> {
  const { responses } = service.services;
  for (let n = 0; n < TRIES; n++) {
    const entry = responses.fresh(`http://localhost:8000${path}`);
    if (entry?.body.gzip) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  throw new Error(`Cannot find "${path}" in gzip: it is not kept`);
}
