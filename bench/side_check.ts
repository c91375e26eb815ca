// Looks at answers while a server is under load: a fast wrong answer is worth nothing.

import { pause } from "./processes.ts";
import { RawClient } from "./raw_client.ts";
import type { Target } from "./targets.ts";

const EVERY_MS = 80;

/**
 * Asks the target again and again until `load` is done; gives its result and how many answers were looked at.
 * @throws {Error} on the first answer that is not right.
 */
export async function checkDuring<T>(
  target: Target,
  load: Promise<T>,
): Promise<{ result: T; checks: number }> {
  let running = true;
  const done = load.finally(() => running = false);
  using client = await RawClient.connect(target.origin);
  const ids = new Set<string>();
  let checks = 0;
  try {
    // Steps through all paths in an order of its own.
    for (let at = 0; running; at += 7) {
      const path = target.paths[at % target.paths.length]!;
      const answer = await client.get(path, target.headers);
      const difference = target.differenceOf(path, answer);
      if (difference !== null) throw wrong(target, path, difference);
      if (target.server.startsWith("service")) {
        const id = answer.headers.get("x-request-id") ?? "";
        if (id === "" || ids.has(id)) throw wrong(target, path, `request id "${id}"`);
        ids.add(id);
      }
      checks++;
      await pause(EVERY_MS);
    }
  } finally {
    await done.catch(() => {});
  }
  return { result: await done, checks };
}

function wrong({ server }: Target, path: string, what: string): Error {
  return new Error(`Cannot trust "${server}": ${path} was answered with ${what}`);
}
