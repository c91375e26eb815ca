// What the service answers before it is put under load: checked against the repository that it lists, and the measure
// of what it answers under load.

import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { type RawAnswer, RawClient } from "./raw_client.ts";
import { pause } from "./processes.ts";
import { filesOf } from "./repositories.ts";
import type { Scenario } from "./scenarios.ts";

/** Answers by path, and the headers with which each is asked for. */
export interface ServiceAnswers {
  readonly headers: Readonly<Record<string, string>>;
  readonly byPath: ReadonlyMap<string, RawAnswer>;
}

/** Headers in which right answers to one request may differ; a problem's length goes with its request id. */
const LIVE_HEADERS = new Set(["date", "age", "cache-status", "x-request-id"]);
const FRESH_SECONDS = 60;
const GZIP_WITHIN_MS = 5_000;

/** Asks for everything that a scenario asks for until it is kept. @throws {AssertionError} on a wrong answer. */
export async function takeAnswers(origin: string, scenario: Scenario): Promise<ServiceAnswers> {
  using client = await RawClient.connect(origin);
  const byPath = new Map<string, RawAnswer>();
  let { headers } = scenario;
  for (const path of scenario.paths) {
    const first = await client.get(path);
    checkContent(path, first);
    if (scenario.conditional) headers = { ...headers, "if-none-match": first.headers.get("etag")! };
    const until = performance.now() + GZIP_WITHIN_MS;
    let answer = await client.get(path, headers);
    while (
      headers["accept-encoding"] !== undefined && !answer.headers.has("content-encoding") &&
      performance.now() < until
    ) {
      await pause(20);
      answer = await client.get(path, headers);
    }
    assertEquals(answer.status, scenario.status, path);
    assertEquals(answer.headers.has("content-encoding"), "accept-encoding" in headers, path);
    assertEquals(differenceOf(scenario, answer, answer), null, path);
    byPath.set(path, answer);
  }
  return { headers, byPath };
}

/** How an answer differs from the one that was expected; null where it is right. */
export function differenceOf(
  { status }: Scenario,
  expected: RawAnswer,
  answer: RawAnswer,
): string | null {
  if (answer.status !== status) return `status ${answer.status}`;
  const standing = status < 400 ? standingOf(answer.headers) : null;
  if (standing !== null) return standing;
  return headerDifference(expected, answer) ??
    (sameBytes(comparable(expected), comparable(answer)) ? null : "another body");
}

/** The first header, of those that do not change from answer to answer, in which two answers differ. */
export function headerDifference(expected: RawAnswer, answer: RawAnswer): string | null {
  for (const name of new Set([...expected.headers.keys(), ...answer.headers.keys()])) {
    if (LIVE_HEADERS.has(name) || (expected.status >= 400 && name === "content-length")) continue;
    const [wanted, given] = [expected.headers.get(name), answer.headers.get(name)];
    if (wanted !== given) return `header ${name}: ${given} and not ${wanted}`;
  }
  return null;
}

/** A hit must say that it is one, and how much of its minute is left. */
function standingOf(headers: ReadonlyMap<string, string>): string | null {
  const text = headers.get("cache-status") ?? "none";
  const ttl = Number(/^collections; hit; ttl=(\d+)$/.exec(text)?.[1] ?? NaN);
  const age = Number(headers.get("age"));
  return age >= 0 && age + ttl === FRESH_SECONDS ? null : `cache-status ${text}, age ${age}`;
}

/** The body, without the request id that every problem has its own of. */
function comparable({ headers, body }: RawAnswer): Uint8Array {
  const id = headers.get("x-request-id");
  if (id === undefined || !headers.get("content-type")?.includes("problem")) return body;
  return new TextEncoder().encode(new TextDecoder().decode(body).replace(id, ""));
}

/** Whether two byte strings are the same. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

let contents: Map<string, string> | undefined;

/** Holds an answer to what the repository is known to hold. */
function checkContent(path: string, { status, body }: RawAnswer): void {
  if (status >= 400) return;
  contents ??= new Map(filesOf("site"));
  const asked = new URLSearchParams(path.slice(path.indexOf("?") + 1));
  const value = JSON.parse(new TextDecoder().decode(body));
  const file = asked.get("path");
  if (file !== null) return assertEquals(value.content, contents.get(file));
  const [page, limit] = [Number(asked.get("page") ?? 1), Number(asked.get("limit") ?? 50)];
  assertEquals(
    value.items.map((item: { path: string }) => item.path),
    [...contents.keys()].slice((page - 1) * limit, page * limit),
  );
  assert(value.pagination.totalItems === contents.size);
}
