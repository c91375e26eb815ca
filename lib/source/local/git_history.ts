// Reads from Git which commit last changed each file of a local checkout. Git
// runs only if the service was started with `--allow-run=git`. The author of a
// checkout writes its configuration, so nothing in it may run a program.

import { dirname } from "@std/path";
import pLimit from "p-limit";
import { problem } from "../../errors.ts";
import type { Clock } from "../../work/clock.ts";
import { RecentMap } from "../../work/recent_map.ts";
import { changeOf } from "../change.ts";
import { gitDirOf } from "./checked_out_branch.ts";
import type {
  Change,
  FileHistory,
  FileRef,
  RequestContext,
} from "../source.ts";

/** A missing object of a partial clone is not fetched. */
const ENVIRONMENT = {
  GIT_ALLOW_PROTOCOL: "",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_NO_LAZY_FETCH: "1",
  GIT_TERMINAL_PROMPT: "0",
  LC_ALL: "C",
};
const OPTIONS = [
  "--no-pager",
  "--no-optional-locks",
  "--no-replace-objects",
  "--literal-pathspecs",
  "-c",
  "core.fsmonitor=false",
  "-c",
  "core.hooksPath=/dev/null",
  "-c",
  "core.sshCommand=false",
];
const LOG = [
  "log",
  "-1",
  "-z",
  "--format=%H%x00%cI%x00%an%x00%B",
  "--encoding=UTF-8",
  "--no-color",
  "--no-decorate",
  "--no-ext-diff",
  "--no-follow",
  "--no-mailmap",
  "--no-notes",
  "--no-show-signature",
  "--no-textconv",
];
const OBJECT_ID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

const MAX_BYTES = { log: 1 << 20, list: 4 << 20 };
const TIMEOUT_MS = 10_000;
const RUN_AT_ONCE = 2;
const MAX_KEPT = 10_000;
/** Measured processor time of one process. A longer one is charged its time. */
const PROCESS_MS = 5;
const LONG_MS = 100;
/** A commit may leave all files as they are. */
const CACHE_FOR_MS = 1_000;

/** Reads the history of checkouts. */
export class GitHistory {
  private readonly limit = pLimit(RUN_AT_ONCE);
  private readonly known = new RecentMap<FileHistory>(MAX_KEPT);

  constructor(private readonly clock: Clock) {}

  /**
   * Returns the history of each file up to the commit that is checked out.
   * @throws {CollectionsError} history-unavailable if Git may not be run or the
   * folder is not a checkout of its own.
   */
  async read(
    folder: string,
    { files, withCreated }: {
      readonly files: readonly FileRef[];
      readonly withCreated: boolean;
    },
    context: RequestContext,
  ) {
    const { state } = await Deno.permissions.query({
      name: "run",
      command: "git",
    });
    if (state !== "granted") {
      throw unavailable("start the service with --allow-run=git");
    }
    const git = (args: readonly string[], maxBytes = MAX_BYTES.log) =>
      this.limit(() => this.run(folder, args, maxBytes, context));
    const isCheckout = await gitDirOf(folder) !== null;
    const head = isCheckout ? await git(["rev-parse", "HEAD"]) : null;
    const commit = head?.trim() ?? "";
    if (!OBJECT_ID.test(commit)) {
      throw unavailable("serve a checkout of Git that has a commit");
    }

    const changes = new Map<string, FileHistory>();
    await Promise.all(files.map(async ({ path }) => {
      const key = [folder, commit, withCreated, path].join("\n");
      let history = this.known.get(key);
      if (history === undefined) {
        const lastChanged = parseLog(await git([...LOG, commit, "--", path]));
        if (lastChanged === null) return;
        const oldest = withCreated
          ? await git(["rev-list", commit, "--", path], MAX_BYTES.list)
          : null;
        const [id = ""] = oldest?.trim().split("\n").slice(-1) ?? [];
        const created = OBJECT_ID.test(id)
          ? parseLog(await git([...LOG, id]))
          : null;
        history = { lastChanged, ...created && { created } };
        this.known.set(key, history);
      }
      changes.set(path, history);
    }));
    return { changes, parent: null, cacheForMs: CACHE_FOR_MS };
  }

  /**
   * Returns what Git prints. Returns null if it fails, prints too much or takes
   * too long.
   * @throws the context's abort reason.
   */
  private async run(
    folder: string,
    args: readonly string[],
    maxBytes: number,
    context: RequestContext,
  ): Promise<string | null> {
    const { signal } = context;
    signal?.throwIfAborted();
    const startedAtMs = this.clock.monotonicMs();
    const path = await Deno.realPath(folder);
    const stop = new AbortController();
    const child = new Deno.Command("git", {
      args: ["-C", path, ...OPTIONS, ...args],
      clearEnv: true,
      env: { ...ENVIRONMENT, GIT_CEILING_DIRECTORIES: dirname(path) },
      stdin: "null",
      stdout: "piped",
      stderr: "null",
      signal: AbortSignal.any([stop.signal, ...signal ? [signal] : []]),
    }).spawn();
    const cancel = this.clock.setTimer(TIMEOUT_MS, () => stop.abort());
    try {
      const parts: Uint8Array[] = [];
      let length = 0;
      for await (const part of child.stdout) {
        length += part.length;
        if (length > maxBytes) stop.abort();
        else parts.push(part);
      }
      const { success } = await child.status;
      signal?.throwIfAborted();
      return success ? await new Blob(parts as BlobPart[]).text() : null;
    } finally {
      const tookMs = this.clock.monotonicMs() - startedAtMs;
      context.charge(tookMs < LONG_MS ? PROCESS_MS : tookMs);
      cancel();
    }
  }
}

function parseLog(text: string | null): Change | null {
  const [commit = "", date = "", name = "", message = ""] = text?.split("\0") ??
    [];
  const time = Date.parse(date);
  if (!OBJECT_ID.test(commit) || Number.isNaN(time)) return null;
  return changeOf({
    commit,
    date: new Date(time).toISOString().replace(".000Z", "Z"),
    name,
    message,
  });
}

const unavailable = (todo: string) =>
  problem("history-unavailable", {
    source: "The history of a local folder is read with git.",
    todo,
  });
