// Every file below one folder, in byte order of path, in a few typed arrays: 100,000 files take some 10 MB, a page is
// cut without touching the rest, and the form in memory is the form that is kept.

const ID_BYTES = 20;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A file below the folder of a list: `path` starts there; `size` is in bytes. */
export interface ListedFile {
  readonly path: string;
  readonly id: string;
  readonly size: number;
}

/** Whether a path below a collection is listed: no segment of it begins with a dot. */
export function isListedPath(path: string): boolean {
  return !path.startsWith(".") && !path.includes("/.");
}

/** An immutable, sorted list of files; build one with {@linkcode FileListBuilder}. */
export class FileList {
  constructor(
    private readonly paths: Uint8Array<ArrayBuffer>,
    /** `offsets[i]` is where path i begins; one more than there are files. */
    private readonly offsets: Uint32Array<ArrayBuffer>,
    private readonly ids: Uint8Array<ArrayBuffer>,
    private readonly sizes: Float64Array<ArrayBuffer>,
  ) {}

  /** How many files there are. */
  get length(): number {
    return this.sizes.length;
  }

  /** Bytes of memory that the list takes. */
  get byteLength(): number {
    return this.paths.length + this.offsets.byteLength + this.ids.length + this.sizes.byteLength;
  }

  /** The file at `index`. @throws {RangeError} outside 0 to length - 1. */
  at(index: number): ListedFile {
    if (!(index >= 0 && index < this.length)) {
      throw new RangeError(`Cannot read file "${index}": the list has ${this.length}`);
    }
    return { path: this.pathAt(index), id: this.idAt(index), size: this.sizeAt(index) };
  }

  /** The path of the file at `index`, from the list's folder. */
  pathAt(index: number): string {
    return decoder.decode(this.pathBytes(index));
  }

  /** The blob id of the file at `index`, 40 hex digits. */
  idAt(index: number): string {
    return this.ids.subarray(index * ID_BYTES, (index + 1) * ID_BYTES).toHex();
  }

  /** The size in bytes of the file at `index`. */
  sizeAt(index: number): number {
    return this.sizes[index]!;
  }

  /** Finds a file by its path from the list's folder, in logarithmic time; null when it is not listed. */
  find(path: string): ListedFile | null {
    const wanted = encoder.encode(path);
    let low = 0;
    let high = this.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const order = compareBytes(this.pathBytes(middle), wanted);
      if (order === 0) return this.at(middle);
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    return null;
  }

  /** The list as bytes, for {@linkcode FileList.fromBytes}: count, offsets, sizes, ids, paths, little-endian. */
  toBytes(): Uint8Array<ArrayBuffer> {
    const count = this.length;
    const bytes = new Uint8Array(8 + count * (4 + 8 + ID_BYTES) + 4 + this.paths.length);
    new DataView(bytes.buffer).setUint32(0, count, true);
    let at = 8;
    for (const part of [this.sizes, this.offsets, this.ids, this.paths]) {
      bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
      at += part.byteLength;
    }
    return bytes;
  }

  /** The list that `toBytes` gave, or null where the bytes cannot be one. */
  static fromBytes(bytes: Uint8Array<ArrayBuffer>): FileList | null {
    if (bytes.length < 12) return null;
    const count = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    const fixed = 8 + count * (4 + 8 + ID_BYTES) + 4;
    if (bytes.length < fixed) return null;
    let at = 8;
    const take = (length: number) => bytes.slice(at, at += length);
    const sizes = new Float64Array(take(count * 8).buffer);
    const offsets = new Uint32Array(take((count + 1) * 4).buffer);
    const ids = take(count * ID_BYTES);
    const paths = take(bytes.length - at);
    return offsets[count] === paths.length ? new FileList(paths, offsets, ids, sizes) : null;
  }

  private pathBytes(index: number): Uint8Array {
    return this.paths.subarray(this.offsets[index]!, this.offsets[index + 1]!);
  }
}

/** Gathers files in any order; unlisted paths are dropped (see {@linkcode isListedPath}). */
export class FileListBuilder {
  private readonly files: { path: Uint8Array; id: string; size: number }[] = [];
  private pathBytes = 0;
  private sorted = true;

  /** How many files were taken so far. */
  get length(): number {
    return this.files.length;
  }

  /** Takes one file, if it is listed. `size` is in bytes. */
  add(file: ListedFile): void {
    if (!isListedPath(file.path)) return;
    const path = encoder.encode(file.path);
    const last = this.files.at(-1);
    if (last !== undefined && compareBytes(last.path, path) > 0) this.sorted = false;
    this.files.push({ path, id: file.id, size: file.size });
    this.pathBytes += path.length;
  }

  /** Takes a list of a sub-folder; `prefix` is that folder's path. */
  addAll(list: FileList, prefix: string): void {
    for (let index = 0; index < list.length; index++) {
      this.add({
        path: `${prefix}/${list.pathAt(index)}`,
        id: list.idAt(index),
        size: list.sizeAt(index),
      });
    }
  }

  /** The list of all that was taken, in byte order of path. */
  build(): FileList {
    if (!this.sorted) this.files.sort((a, b) => compareBytes(a.path, b.path));
    const count = this.files.length;
    const paths = new Uint8Array(this.pathBytes);
    const offsets = new Uint32Array(count + 1);
    const ids = new Uint8Array(count * ID_BYTES);
    const sizes = new Float64Array(count);
    let at = 0;
    this.files.forEach((file, index) => {
      paths.set(file.path, at);
      at += file.path.length;
      offsets[index + 1] = at;
      ids.set(Uint8Array.fromHex(file.id), index * ID_BYTES);
      sizes[index] = file.size;
    });
    return new FileList(paths, offsets, ids, sizes);
  }
}

/** Orders two byte strings as memcmp does, the shorter first where one begins the other. */
function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    if (a[i] !== b[i]) return a[i]! - b[i]!;
  }
  return a.length - b.length;
}
