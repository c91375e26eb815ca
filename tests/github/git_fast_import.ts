// Writes one commit with `git fast-import`, whatever its size: one process for 120,000 files.
// Identical contents are sent once. Stream format: https://git-scm.com/docs/git-fast-import

import { runGit, testIdentity } from "./git_command.ts";

/** What a path holds: a file, an executable file, a symbolic link or a submodule (a commit id). */
export type GitContent =
  | string
  | Uint8Array
  | { executable: string | Uint8Array }
  | { symlink: string }
  | { submodule: string };

/** One commit to write. `null` as content removes the path (a folder is removed whole). */
export interface ImportedCommit {
  branch: string;
  parent: string | null;
  message: string;
  seconds: number;
  changes: Iterable<readonly [path: string, content: GitContent | null]>;
}

const encoder = new TextEncoder();
const chunkBytes = 1 << 20;

/** Writes the commit into the repository at `dir`, moves its branch to it and gives its id. */
export async function fastImport(dir: string, commit: ImportedCommit): Promise<string> {
  const args = ["fast-import", "--quiet", "--force", "--date-format=raw"];
  const stream = ReadableStream.from(chunked(commands(commit)));
  const output = await runGit(args, { dir, stdin: stream });
  return new TextDecoder().decode(output).trim();
}

function* commands(commit: ImportedCommit): Generator<Uint8Array> {
  const marks = new Map<string, number>();
  const modifications: string[] = [];
  let lastMark = 0;
  for (const [path, content] of commit.changes) {
    if (content === null) {
      modifications.push(`D ${quote(path)}\n`);
      continue;
    }
    const { mode, data } = parseContent(content);
    if (mode === "160000") {
      modifications.push(`M ${mode} ${data} ${quote(path)}\n`);
      continue;
    }
    let mark = typeof data === "string" ? marks.get(data) : undefined;
    if (mark === undefined) {
      mark = ++lastMark;
      if (typeof data === "string") marks.set(data, mark);
      const bytes = typeof data === "string" ? encoder.encode(data) : data;
      yield encoder.encode(`blob\nmark :${mark}\ndata ${bytes.length}\n`);
      yield bytes;
      yield encoder.encode("\n");
    }
    modifications.push(`M ${mode} :${mark} ${quote(path)}\n`);
  }
  const message = encoder.encode(commit.message);
  const who = `${testIdentity} ${commit.seconds} +0000`;
  yield encoder.encode(`commit refs/heads/${commit.branch}\nmark :${++lastMark}\n`);
  yield encoder.encode(`author ${who}\ncommitter ${who}\ndata ${message.length}\n`);
  yield message;
  yield encoder.encode(`\n${commit.parent ? `from ${commit.parent}\n` : ""}`);
  for (const line of modifications) yield encoder.encode(line);
  yield encoder.encode(`\nget-mark :${lastMark}\n`);
}

function parseContent(content: GitContent): { mode: string; data: string | Uint8Array } {
  if (typeof content === "string" || content instanceof Uint8Array) {
    return { mode: "100644", data: content };
  }
  if ("executable" in content) return { mode: "100755", data: content.executable };
  if ("symlink" in content) return { mode: "120000", data: content.symlink };
  return { mode: "160000", data: content.submodule };
}

function quote(path: string): string {
  const escaped = path.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  return `"${escaped}"`;
}

function* chunked(parts: Iterable<Uint8Array>): Generator<Uint8Array> {
  let buffer = new Uint8Array(chunkBytes);
  let length = 0;
  for (const part of parts) {
    if (length + part.length > chunkBytes) {
      yield buffer.subarray(0, length);
      buffer = new Uint8Array(chunkBytes);
      length = 0;
    }
    if (part.length > chunkBytes) {
      yield part;
    } else {
      buffer.set(part, length);
      length += part.length;
    }
  }
  yield buffer.subarray(0, length);
}
