// Git's objects as Git computes them (gitformat-pack, gitrepository-layout): in memory, and as loose files once a
// repository has a folder. A test repository is so made without a process, in a millisecond or two.

import { createHash } from "node:crypto";
import { deflateSync, inflateSync } from "node:zlib";

type Bytes = Uint8Array<ArrayBuffer>;

/** An object: its id of 40 hex digits, its type and its bytes. */
export interface GitObject {
  readonly oid: string;
  readonly type: "blob" | "tree" | "commit" | "tag";
  readonly bytes: Bytes;
}

/** One entry of a tree; `size` is null for anything but a blob. */
export interface GitTreeEntry {
  readonly mode: string;
  readonly type: "blob" | "tree" | "commit";
  readonly name: string;
  readonly oid: string;
  readonly size: number | null;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Objects and refs of one repository. */
export class GitStore {
  private readonly objects = new Map<string, GitObject>();
  private readonly trees = new Map<string, readonly GitTreeEntry[]>();
  private readonly refs = new Map<string, string>();

  /** `dir` is the Git directory, null for a store in memory. */
  constructor(public dir: string | null = null) {}

  /** Writes an object and gives its id. */
  write(type: GitObject["type"], content: string | Uint8Array): string {
    const bytes = typeof content === "string" ? encoder.encode(content) : new Uint8Array(content);
    const hash = createHash("sha1").update(`${type} ${bytes.length}\0`).update(bytes);
    const oid = hash.digest("hex");
    if (this.objects.has(oid)) return oid;
    const object = { oid, type, bytes };
    this.objects.set(oid, object);
    if (this.dir !== null) this.writeLoose(this.dir, object);
    return oid;
  }

  /** The object with an id, or null. */
  read(oid: string): GitObject | null {
    const known = this.objects.get(oid);
    if (known !== undefined || this.dir === null || !/^[0-9a-f]{40}$/.test(oid)) {
      return known ?? null;
    }
    const file = readOrNull(`${this.dir}/objects/${oid.slice(0, 2)}/${oid.slice(2)}`);
    if (file === null) return null;
    const raw = new Uint8Array(inflateSync(file));
    const end = raw.indexOf(0);
    const type = decoder.decode(raw.subarray(0, end)).split(" ")[0] as GitObject["type"];
    const object = { oid, type, bytes: raw.slice(end + 1) };
    this.objects.set(oid, object);
    return object;
  }

  /** The id of the only commit that begins with some digits, or null. */
  findCommit(start: string): string | null {
    const found = this.objects.values().filter(({ oid, type }) =>
      type === "commit" && oid.startsWith(start)
    ).toArray();
    return found.length === 1 ? found[0]!.oid : null;
  }

  /** The entries of a tree in Git's order, or null where the id names none. */
  tree(oid: string): readonly GitTreeEntry[] | null {
    const known = this.trees.get(oid);
    if (known !== undefined) return known;
    const object = this.read(oid);
    if (object?.type !== "tree") return null;
    const { bytes } = object;
    const entries: GitTreeEntry[] = [];
    for (let at = 0; at < bytes.length;) {
      const space = bytes.indexOf(32, at);
      const end = bytes.indexOf(0, space);
      const mode = decoder.decode(bytes.subarray(at, space)).padStart(6, "0");
      const type = mode === "040000" ? "tree" : mode === "160000" ? "commit" : "blob";
      const oid = bytes.subarray(end + 1, end + 21).toHex();
      const size = type === "blob" ? this.read(oid)?.bytes.length ?? null : null;
      entries.push({ mode, type, name: decoder.decode(bytes.subarray(space + 1, end)), oid, size });
      at = end + 21;
    }
    this.trees.set(oid, entries);
    return entries;
  }

  /** Writes a tree of these entries, in any order. */
  writeTree(entries: Iterable<{ mode: string; name: string; oid: string }>): string {
    const ordered = Array.from(entries, (entry) => {
      const isFolder = entry.mode === "040000";
      const mode = isFolder ? "40000" : entry.mode;
      // Git orders folders as if their names ended in a slash.
      const key = encoder.encode(isFolder ? `${entry.name}/` : entry.name);
      return { key, head: encoder.encode(`${mode} ${entry.name}\0`), oid: entry.oid };
    }).sort((a, b) => compareBytes(a.key, b.key));
    const parts = ordered.flatMap(({ head, oid }) => [head, Uint8Array.fromHex(oid)]);
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return this.write("tree", bytes);
  }

  /** The id that a full ref name has, or null. */
  ref(name: string): string | null {
    if (this.dir === null) return this.refs.get(name) ?? null;
    const file = readOrNull(`${this.dir}/${name}`);
    return file === null ? null : decoder.decode(file).trim();
  }

  /** Points a full ref name at an id; null removes it. */
  setRef(name: string, oid: string | null): void {
    if (oid === null) this.refs.delete(name);
    else this.refs.set(name, oid);
    if (this.dir === null) return;
    const path = `${this.dir}/${name}`;
    if (oid === null) return Deno.removeSync(path);
    Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    // Another process must see the old id or the new one, never an empty file.
    Deno.writeTextFileSync(`${path}.lock`, `${oid}\n`);
    Deno.renameSync(`${path}.lock`, path);
  }

  /** Whether there is no ref yet. */
  get isEmpty(): boolean {
    return this.dir === null ? this.refs.size === 0 : !hasFiles(`${this.dir}/refs`);
  }

  /** Writes all that is in memory into a new Git directory, which this store has from then on. */
  moveTo(dir: string, branch: string): void {
    this.dir = dir;
    Deno.mkdirSync(`${dir}/refs/heads`, { recursive: true });
    Deno.mkdirSync(`${dir}/objects`);
    Deno.writeTextFileSync(`${dir}/HEAD`, `ref: refs/heads/${branch}\n`);
    const config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";
    Deno.writeTextFileSync(`${dir}/config`, config);
    for (const object of this.objects.values()) this.writeLoose(dir, object);
    for (const [name, oid] of this.refs) this.setRef(name, oid);
  }

  private writeLoose(dir: string, { oid, type, bytes }: GitObject): void {
    const folder = `${dir}/objects/${oid.slice(0, 2)}`;
    Deno.mkdirSync(folder, { recursive: true });
    const head = encoder.encode(`${type} ${bytes.length}\0`);
    const raw = new Uint8Array(head.length + bytes.length);
    raw.set(head);
    raw.set(bytes, head.length);
    const path = `${folder}/${oid.slice(2)}`;
    Deno.writeFileSync(`${path}.new`, deflateSync(raw, { level: 1 }));
    Deno.renameSync(`${path}.new`, path);
  }
}

function readOrNull(path: string): Bytes | null {
  try {
    return Deno.readFileSync(path);
  } catch {
    return null;
  }
}

function hasFiles(path: string): boolean {
  return [...Deno.readDirSync(path)].some(({ name, isFile }) =>
    isFile || hasFiles(`${path}/${name}`)
  );
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}
