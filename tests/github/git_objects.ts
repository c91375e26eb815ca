// Reads Git objects of one repository through one long-lived `git cat-file --batch-command`.
// What has an object id never changes, so it is kept in memory; names are asked anew every time.

import { ByteReader } from "./byte_reader.ts";
import { gitEnvironment } from "./git_command.ts";
import { type GitTreeEntry, parseTree } from "./git_tree.ts";

/** Id, type and size in bytes of an object. */
export interface GitObjectInfo {
  oid: string;
  type: string;
  size: number;
}

/** An object with its bytes. */
export interface GitObject extends GitObjectInfo {
  bytes: Uint8Array<ArrayBuffer>;
}

interface Question {
  wantsBytes: boolean;
  resolve(object: GitObject | null): void;
  reject(error: unknown): void;
}

const maxKeptBlobBytes = 64 << 20;
const noBytes = new Uint8Array(0);
const unsafeName = /\p{Cc}|\p{Cs}/u;

/** The objects of the repository at `dir`. The process starts with the first question. */
export class GitObjects {
  #dir: string;
  #process:
    | { child: Deno.ChildProcess; writer: WritableStreamDefaultWriter; done: Promise<void> }
    | null = null;
  #questions: Question[] = [];
  #infos = new Map<string, GitObjectInfo>();
  #trees = new Map<string, Promise<GitTreeEntry[] | null>>();
  #blobs = new Map<string, GitObject>();
  #keptBlobBytes = 0;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Id, type and size of what a Git revision expression names, or null. */
  async info(revision: string): Promise<GitObjectInfo | null> {
    const known = this.#infos.get(revision);
    if (known || unsafeName.test(revision)) return known ?? null;
    const [info] = await this.#ask("info", [revision]);
    if (info) this.#infos.set(info.oid, info);
    return info ?? null;
  }

  /** A blob by its id, or null if there is none. */
  async blob(oid: string): Promise<GitObject | null> {
    const kept = this.#blobs.get(oid);
    if (kept || unsafeName.test(oid)) return kept ?? null;
    const [object] = await this.#ask("contents", [oid]);
    if (object?.type !== "blob") return null;
    if (this.#keptBlobBytes + object.size <= maxKeptBlobBytes) {
      this.#keptBlobBytes += object.size;
      this.#blobs.set(oid, object);
    }
    return object;
  }

  /** The entries of a tree by its id, in Git's order, or null if there is none. */
  tree(oid: string): Promise<GitTreeEntry[] | null> {
    let tree = this.#trees.get(oid);
    if (!tree) {
      tree = this.#readTree(oid);
      this.#trees.set(oid, tree);
      tree.then((entries) => entries ?? this.#trees.delete(oid), () => this.#trees.delete(oid));
    }
    return tree;
  }

  /** Ends the process after its last answer; the next question starts a new one. */
  async stop(): Promise<void> {
    const process = this.#process;
    this.#process = null;
    if (!process) return;
    await process.writer.close().catch(() => {});
    await process.done;
  }

  async #readTree(oid: string): Promise<GitTreeEntry[] | null> {
    const [object] = await this.#ask("contents", [oid]);
    if (object?.type !== "tree") return null;
    const entries = parseTree(object.bytes);
    const unknown = entries.filter((entry) => entry.type === "blob" && !this.#infos.has(entry.oid))
      .map((entry) => entry.oid);
    const infos = await this.#ask("info", [...new Set(unknown)]);
    for (const info of infos) if (info) this.#infos.set(info.oid, info);
    for (const entry of entries) {
      if (entry.type === "blob") entry.size = this.#infos.get(entry.oid)?.size ?? null;
    }
    return entries;
  }

  #ask(command: "info" | "contents", revisions: string[]): Promise<(GitObject | null)[]> {
    if (revisions.length === 0) return Promise.resolve([]);
    this.#process ??= this.#start();
    const answers = revisions.map(() => Promise.withResolvers<GitObject | null>());
    for (const { resolve, reject } of answers) {
      this.#questions.push({ wantsBytes: command === "contents", resolve, reject });
    }
    const lines = revisions.map((revision) => `${command} ${revision}\n`).join("");
    this.#process.writer.write(new TextEncoder().encode(lines)).catch(() => {});
    return Promise.all(answers.map((answer) => answer.promise));
  }

  #start() {
    const child = new Deno.Command("git", {
      args: ["cat-file", "--batch-command"],
      cwd: this.#dir,
      clearEnv: true,
      env: gitEnvironment(),
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    // Each process answers its own questions, so a stopping one never takes those of the next.
    const questions = this.#questions = [];
    return { child, writer: child.stdin.getWriter(), done: answer(child, questions) };
  }
}

async function answer(child: Deno.ChildProcess, questions: Question[]): Promise<void> {
  const reader = new ByteReader(child.stdout);
  for (let line = await reader.readLine(); line !== null; line = await reader.readLine()) {
    const question = questions.shift();
    const match = /^([0-9a-f]{40}) (\w+) (\d+)$/.exec(line);
    if (!match) {
      question?.resolve(null);
      continue;
    }
    const size = Number(match[3]);
    const bytes = question?.wantsBytes ? await reader.readBytes(size) : noBytes;
    if (question?.wantsBytes) await reader.readBytes(1);
    question?.resolve({ oid: match[1]!, type: match[2]!, size, bytes });
  }
  await child.status;
  for (const question of questions) question.reject(new Error('Cannot read "git cat-file": ended'));
}
