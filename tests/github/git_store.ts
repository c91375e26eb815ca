// Git's objects and refs as Git computes them (gitformat-pack,
// gitrepository-layout): in memory, and as loose files once a repository has a
// folder. A test repository is so made without a process, in a millisecond or
// two.

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { deflateSync, inflateSync } from "node:zlib";

/** An object: its id of 40 hex digits, its type and its bytes. */
export interface GitObject {
  readonly oid: string;
  readonly type: "blob" | "tree" | "commit" | "tag";
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** One entry of a tree; `size` is null for anything but a blob. */
export interface GitTreeEntry {
  readonly mode: string;
  readonly type: "blob" | "tree" | "commit";
  readonly name: string;
  readonly oid: string;
  readonly size: number | null;
}

const decoder = new TextDecoder();

/** Objects and refs of one repository. */
export class GitStore {
  /** The Git directory, null for a store in memory. */
  private dir: string | null;
  private readonly objects = new Map<string, GitObject>();
  private readonly trees = new Map<string, readonly GitTreeEntry[]>();
  private readonly refs = new Map<string, string>();

  /**
   * Opens the store of a repository's folder, bare or checked out; a new one in
   * memory where it is null.
   */
  constructor(folder: string | null) {
    this.dir = existsSync(`${folder}/.git`) ? `${folder}/.git` : folder;
  }

  /** Writes an object and gives its id. */
  write(type: GitObject["type"], content: string | Uint8Array): string {
    const bytes = new Uint8Array(
      typeof content === "string" ? Buffer.from(content) : content,
    );
    const oid = createHash("sha1").update(`${type} ${bytes.length}\0`).update(
      bytes,
    ).digest("hex");
    if (this.objects.has(oid)) return oid;
    this.objects.set(oid, { oid, type, bytes });
    this.writeLoose({ oid, type, bytes });
    return oid;
  }

  /** The object with an id, or null. */
  read(oid: string): GitObject | null {
    const known = this.objects.get(oid);
    if (known !== undefined || !/^[0-9a-f]{40}$/.test(oid)) {
      return known ?? null;
    }
    const file = this.readFile(`objects/${oid.slice(0, 2)}/${oid.slice(2)}`);
    if (file === null) return null;
    const raw = new Uint8Array(inflateSync(file));
    const end = raw.indexOf(0);
    const type = decoder.decode(raw.subarray(0, end)).split(
      " ",
    )[0] as GitObject["type"];
    const object = { oid, type, bytes: raw.slice(end + 1) };
    this.objects.set(oid, object);
    return object;
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
      const type = mode === "040000"
        ? "tree"
        : mode === "160000"
        ? "commit"
        : "blob";
      const oid = bytes.subarray(end + 1, end + 21).toHex();
      const size = type === "blob"
        ? this.read(oid)?.bytes.length ?? null
        : null;
      entries.push({
        mode,
        type,
        name: decoder.decode(bytes.subarray(space + 1, end)),
        oid,
        size,
      });
      at = end + 21;
    }
    this.trees.set(oid, entries);
    return entries;
  }

  /** Writes a tree of these entries, in any order. */
  writeTree(
    entries: Iterable<{ mode: string; name: string; oid: string }>,
  ): string {
    // Git orders folders as if their names ended in a slash.
    const ordered = Array.from(entries, ({ mode, name, oid }) => ({
      key: Buffer.from(mode === "040000" ? `${name}/` : name),
      bytes: [
        Buffer.from(`${mode.replace(/^0/, "")} ${name}\0`),
        Buffer.from(oid, "hex"),
      ],
    })).sort((a, b) => Buffer.compare(a.key, b.key));
    return this.write(
      "tree",
      Buffer.concat(ordered.flatMap(({ bytes }) => bytes)),
    );
  }

  /** The id that a full ref name has, or null. */
  ref(name: string): string | null {
    if (this.dir === null) return this.refs.get(name) ?? null;
    const file = this.readFile(name);
    return file === null ? null : decoder.decode(file).trim();
  }

  /** Points a full ref name at an id; null removes it. */
  setRef(name: string, oid: string | null): void {
    if (oid === null) this.refs.delete(name);
    else this.refs.set(name, oid);
    if (this.dir === null) return;
    if (oid === null) Deno.removeSync(`${this.dir}/${name}`);
    else this.replaceFile(name, Buffer.from(`${oid}\n`));
  }

  /**
   * Writes all that is in memory into a new Git directory, which this store has
   * from then on.
   */
  moveTo(dir: string, branch: string): void {
    this.dir = dir;
    Deno.mkdirSync(`${dir}/refs/heads`, { recursive: true });
    Deno.mkdirSync(`${dir}/objects`);
    Deno.writeTextFileSync(`${dir}/HEAD`, `ref: refs/heads/${branch}\n`);
    for (const object of this.objects.values()) this.writeLoose(object);
    for (const [name, oid] of this.refs) this.setRef(name, oid);
  }

  private writeLoose({ oid, type, bytes }: GitObject): void {
    if (this.dir === null) return;
    const raw = Buffer.concat([
      Buffer.from(`${type} ${bytes.length}\0`),
      bytes,
    ]);
    const content = deflateSync(raw, { level: 1 });
    this.replaceFile(`objects/${oid.slice(0, 2)}/${oid.slice(2)}`, content);
  }

  /**
   * Another process must see the old content or the new one, never half of it.
   */
  private replaceFile(name: string, content: Uint8Array): void {
    const path = `${this.dir}/${name}`;
    Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    Deno.writeFileSync(`${path}.new`, content);
    Deno.renameSync(`${path}.new`, path);
  }

  private readFile(name: string): Uint8Array<ArrayBuffer> | null {
    try {
      return this.dir === null
        ? null
        : Deno.readFileSync(`${this.dir}/${name}`);
    } catch {
      return null;
    }
  }
}
