// Deliveries as GitHub signs them, and two services on one store, of which only
// the first receives pushes.

import { assertEquals } from "@std/assert";
import { signatureOf } from "../github/served_repository.ts";
import type { SharedStore } from "../kv_connect/shared_stores.ts";
import {
  listPath,
  type RequestOptions,
  startService,
  type TestService,
} from "../service.ts";
import { startSite } from "../site.ts";

const KEY = "a-secret-of-the-tests";
/** Two secrets, of which the second signs here. */
export const ENV = {
  GITHUB_WEBHOOK_SECRET: `older,${KEY}`,
  LOG_LEVEL: "silent",
};
export const PATH = "/api/webhooks/github";
const FILES = { "posts/a.md": "" };

let deliveries = 0;

/** A push to a repository, as GitHub's payload has it; each is another one. */
export function push(repository = "octo/site"): string {
  const n = deliveries++;
  return JSON.stringify({
    ref: "refs/heads/main",
    n,
    repository: { full_name: repository },
  });
}

/** The signature of a body by the secret of the tests. */
export function signed(body: string | Uint8Array<ArrayBuffer>): string {
  return signatureOf(body, KEY);
}

/** Delivers a body; gives the status, and the code of a problem. */
export async function deliver(
  service: TestService,
  body: string,
  headers: Record<string, string> = {},
  options: RequestOptions = {},
): Promise<string> {
  const response = await service.get(PATH, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "x-github-event": "push",
      "x-hub-signature-256": signed(body),
      ...headers,
    },
    ...options,
  });
  const text = await response.text();
  return text === ""
    ? `${response.status}`
    : `${response.status} ${JSON.parse(text).code}`;
}

/**
 * Two services that share a store, of which only the first receives deliveries.
 */
async function startTwo(store: SharedStore) {
  const env = { ...ENV, MISSES_PER_MINUTE: "0", KV_PATH: store.path };
  const site = await startSite(FILES, { env });
  const { gh, repository, service: { clock } } = site;
  const other = await startService({ env, github: gh, clock });
  return {
    clock,
    repository,
    services: [site.service, other] as const,
    async [Symbol.asyncDispose]() {
      await other[Symbol.asyncDispose]();
      await site[Symbol.asyncDispose]();
    },
  };
}

async function shownBy(service: TestService): Promise<string> {
  const response = await service.send(listPath());
  return (await response.json()).repository.commit;
}

/**
 * Waits until work that takes no time of the test's clock is done; fails by
 * never ending.
 */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!await condition()) {
    await new Promise((resume) => setTimeout(resume, 1));
  }
}

/**
 * Pushes, and delivers to the first service; gives how long each of the two
 * took to show each push, in ms of their clock.
 */
export async function pushWithHook(
  store: SharedStore,
  count: number,
): Promise<number[]> {
  using kv = await store.open();
  await using two = await startTwo(store);
  const { clock, repository, services: [receiver, other] } = two;
  const published = async () =>
    (await Array.fromAsync(kv.list({ prefix: ["rc4", "changes"] }))).length;
  await Promise.all(two.services.map(shownBy));
  const delaysMs: number[] = [];
  for (let n = 1; n <= count; n++) {
    // Deliveries check a repository once a second.
    clock.advance(1_000);
    const pushedAtMs = clock.now();
    const commit = await repository.commit({ "posts/a.md": `${n}` });
    assertEquals(await deliver(receiver, push()), "202");
    await until(async () => await shownBy(receiver) === commit);
    delaysMs.push(clock.now() - pushedAtMs);
    await until(async () => await published() === n);
    // A file is polled once a second; a remote store reports changes.
    if (store.path.startsWith("/")) clock.advance(1_000);
    await until(async () => await shownBy(other) === commit);
    delaysMs.push(clock.now() - pushedAtMs);
  }
  return delaysMs;
}
