// What `bench:edge` serves, requests and judges: repositories whose states are
// known, a steady stream of requests to the cache in front of the service, and
// whether each answer is one of those states and not too old.

import { assert } from "@std/assert";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { signatureOf } from "../tests/github/served_repository.ts";
import { listPath } from "../tests/service.ts";
import { pause } from "./processes.ts";

/** The secret of the webhook. */
export const SECRET = "bench-secret";

/**
 * One state of a repository; `replacedAtMs` is Infinity while it is current.
 */
interface EdgeState {
  readonly index: number;
  replacedAtMs: number;
}

/** A push that some addresses do not show yet. */
interface Push {
  readonly index: number;
  readonly atMs: number;
  readonly waiting: Set<string>;
}

/** A repository, its addresses, and its states by commit. */
export type EdgeRepository = Awaited<ReturnType<typeof makeEdgeRepository>>;

const contentOf = (index: number) => `State ${index}.`;

/**
 * Makes a repository; each of its addresses is a list that begins with the file
 * that each push changes.
 */
export async function makeEdgeRepository(
  cleanup: AsyncDisposableStack,
  owner: string,
  addresses: number,
) {
  const files = Array.from(
    { length: addresses },
    (_, n) => [`posts/b${n}.md`, `# ${n}\n${"Words. ".repeat(20)}\n`] as const,
  );
  const first = ["posts/a.md", contentOf(0)] as const;
  const git = cleanup.use(await makeGitRepository([first, ...files]));
  const states = new Map<string, EdgeState>();
  let current: EdgeState = { index: 0, replacedAtMs: Infinity };
  states.set(await git.head(), current);
  const paths = files.map((_, n) =>
    listPath({ owner, limit: n + 1, includeContent: true })
  );
  return {
    ...{ owner, git, paths, states },
    pushes: [] as Push[],
    /** Commits another state. */
    async push() {
      const index = current.index + 1;
      const id = await git.commit({ "posts/a.md": contentOf(index) });
      const atMs = Date.now();
      current.replacedAtMs = atMs;
      states.set(id, current = { index, replacedAtMs: Infinity });
      this.pushes.push({ index, atMs, waiting: new Set(paths) });
    },
  };
}

/** Delivers a push as GitHub does. @throws {Error} where nobody answers. */
export async function deliver(
  origin: string,
  { owner, pushes }: EdgeRepository,
): Promise<void> {
  const body = JSON.stringify({
    n: pushes.length,
    ref: "refs/heads/main",
    repository: { full_name: `${owner}/site` },
  });
  const response = await fetch(`${origin}/api/webhooks/github`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "x-github-event": "push",
      "x-hub-signature-256": signatureOf(body, SECRET),
    },
    signal: AbortSignal.timeout(2_000),
  });
  await response.body?.cancel();
  assert(response.status === 202, `a delivery got ${response.status}`);
}

const READERS = 23;
const TICK_MS = 10;
const MAX_UNDER_WAY = 500;

/** Readers behind a cache, and what they got. */
export class EdgeReaders implements Disposable {
  sent = 0;
  /** Requests that were not sent in time because too many were under way. */
  late = 0;
  /** Answers by status and what the cache says of them. */
  readonly answers = new Map<string, number>();
  readonly wrong: string[] = [];
  /** From sending a request to its last byte, one in ten. */
  readonly timesMs: number[] = [];
  /** From a push until an address shows it, one for each of both. */
  readonly shownMs: number[] = [];
  /**
   * How long the state of an answer had been replaced, at most: beyond its
   * `Age`, and at all.
   */
  greatestPastAgeMs = 0;
  greatestBehindMs = 0;
  /** The same of answers that say that the service is down. */
  greatestStaleMs = 0;
  /**
   * From a restart until an answer that shows what was replaced before it, at
   * most.
   */
  greatestOwedMs = 0;
  /**
   * Readers have addresses of their own, because the service limits what one
   * client may have under way.
   */
  private readonly clients = Array.from(
    { length: READERS },
    (_, n) =>
      Deno.createHttpClient(
        // Elsewhere the loopback interface has one address.
        Deno.build.os === "linux" ? { localAddress: `127.0.0.${2 + n}` } : {},
      ),
  );
  private readonly requests: (readonly [EdgeRepository, string])[];
  private underWay = 0;

  constructor(
    private readonly origin: string,
    private readonly repositories: readonly EdgeRepository[],
    private readonly options: {
      readonly perSecond: number;
      /**
       * An answer that is not marked was the current state within this time.
       */
      readonly mostBehindMs: number;
      /** When services were restarted, in ms since the epoch. */
      readonly restartsMs?: readonly number[];
    },
  ) {
    this.requests = repositories.flatMap((repository) =>
      repository.paths.map((path) => [repository, path] as const)
    );
  }

  /** Whether each push shows everywhere. */
  get isShown(): boolean {
    return this.repositories.every(({ pushes }) =>
      pushes.every(({ waiting }) => waiting.size === 0)
    );
  }

  /**
   * Sends requests at a steady rate until told otherwise, and waits for the
   * last answers.
   */
  async readWhile(goesOn: () => boolean): Promise<void> {
    const { perSecond } = this.options;
    const startedMs = performance.now();
    let due = 0;
    while (goesOn()) {
      const now = (performance.now() - startedMs) / 1000 * perSecond;
      for (; due < now; due++) {
        if (this.underWay >= MAX_UNDER_WAY) this.late++;
        else void this.read(this.requests[due % this.requests.length]!);
      }
      await pause(TICK_MS);
    }
    while (this.underWay > 0) await pause(TICK_MS);
  }

  [Symbol.dispose](): void {
    for (const client of this.clients) client.close();
  }

  private async read([repository, path]: readonly [EdgeRepository, string]) {
    const client = this.clients[this.sent % READERS]!;
    const isTimed = this.sent++ % 10 === 0;
    const sentAtMs = Date.now();
    this.underWay++;
    const startedMs = performance.now();
    try {
      const response = await fetch(this.origin + path, {
        client,
        headers: { "accept-encoding": "identity" },
        signal: AbortSignal.timeout(20_000),
      });
      const text = await response.text();
      if (isTimed) this.timesMs.push(performance.now() - startedMs);
      this.judge(repository, path, sentAtMs, response, text);
    } catch (error) {
      // A cache that is killed answers nothing.
      const isGone = error instanceof TypeError ||
        error instanceof DOMException;
      this.count(isGone ? "no answer" : "wrong");
      if (!isGone) {
        this.wrong.push(
          `${new Date(sentAtMs).toISOString()} ${path}: ${error}`,
        );
      }
    } finally {
      this.underWay--;
    }
  }

  private count(answer: string): void {
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
  }

  /** @throws {Error} saying what is wrong. */
  private judge(
    { states, pushes }: EdgeRepository,
    path: string,
    sentAtMs: number,
    { status, headers }: Response,
    text: string,
  ): void {
    const cacheStatus = headers.get("cache-status") ?? "";
    const isStale = cacheStatus.includes("detail=stale-if-error");
    const kind = isStale
      ? "stale"
      : /(?:nginx|varnish); hit/.test(cacheStatus)
      ? "hit"
      : "miss";
    const code = /"code":"([a-z-]+)"/.exec(text)?.[1] ?? "of the cache";
    this.count(`${status} ${status === 200 ? kind : code}`);
    if (status !== 200) {
      const isStorable = !headers.get("cache-control")?.includes("no-store");
      assert(status >= 500, `${status}: ${text.slice(0, 200)}`);
      assert(!isStorable, `${status} that may be stored`);
      return;
    }
    const commit = /"commit":"([0-9a-f]{40})"/.exec(text)?.[1] ?? "none";
    const state = states.get(commit);
    assert(state !== undefined, `commit ${commit} never was`);
    assert(text.includes(contentOf(state.index)), "content of another state");
    const now = Date.now();
    const open = pushes.filter(({ index, waiting }) =>
      index <= state.index && waiting.delete(path)
    );
    this.shownMs.push(...open.map(({ atMs }) => now - atMs));
    const behindMs = Math.max(0, sentAtMs - state.replacedAtMs);
    if (isStale) {
      this.greatestStaleMs = Math.max(this.greatestStaleMs, behindMs);
      return;
    }
    const ageMs = Number(headers.get("age") ?? 60) * 1000;
    const { mostBehindMs, restartsMs = [] } = this.options;
    this.greatestBehindMs = Math.max(this.greatestBehindMs, behindMs);
    this.greatestPastAgeMs = Math.max(this.greatestPastAgeMs, behindMs - ageMs);
    const restartMs = restartsMs.find((atMs) => atMs > state.replacedAtMs);
    this.greatestOwedMs = Math.max(
      this.greatestOwedMs,
      sentAtMs - (restartMs ?? Infinity),
    );
    assert(
      behindMs <= mostBehindMs,
      `${cacheStatus}, Age ${headers.get("age")}: replaced ${behindMs} ms ago`,
    );
  }
}
