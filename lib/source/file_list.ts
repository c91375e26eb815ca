// Every file below one folder, in byte order of path, in a few typed arrays: 100,000 files take some 10 MB, a page is
// cut without touching the rest, and the form in memory is the form that is stored.

const ID_BYTES = 20;
const HEAD_BYTES = 8;
const encoder = new TextEncoder();
// A path may begin with a byte order mark.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

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
    /** How many files were left out because their names are not UTF-8. */
    readonly omitted = 0,
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

  /** How many bytes the path of the file at `index` has. */
  pathBytesAt(index: number): number {
    return this.offsets[index + 1]! - this.offsets[index]!;
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
    const index = this.indexOf(path);
    return index < 0 ? null : this.at(index);
  }

  /** The index of a file by its path, in logarithmic time; -1 when it is not listed. */
  indexOf(path: string): number {
    const index = this.lowerBound(path);
    const isThere = index < this.length &&
      compareBytes(this.pathBytes(index), encoder.encode(path)) === 0;
    return isThere ? index : -1;
  }

  /** The index of the first file whose path is not before this one, in logarithmic time. */
  lowerBound(path: string): number {
    const wanted = encoder.encode(path);
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareBytes(this.pathBytes(middle), wanted) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The list as bytes, for {@linkcode FileList.fromBytes}: count, omitted, sizes, offsets, ids, paths, little-endian. */
  toBytes(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(HEAD_BYTES + this.byteLength);
    const head = new DataView(bytes.buffer);
    head.setUint32(0, this.length, true);
    head.setUint32(4, this.omitted, true);
    let at = HEAD_BYTES;
    for (const part of [this.sizes, this.offsets, this.ids, this.paths]) {
      bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
      at += part.byteLength;
    }
    return bytes;
  }

  /** The list that `toBytes` gave, as a view of the bytes, or null where they cannot be one. */
  static fromBytes(given: Uint8Array<ArrayBuffer>): FileList | null {
    // Typed arrays need aligned views; what does not begin on 8 bytes is copied once.
    const bytes = given.byteOffset % 8 === 0 ? given : given.slice();
    if (bytes.length < HEAD_BYTES + 4) return null;
    const { buffer, byteOffset } = bytes;
    const head = new DataView(buffer, byteOffset);
    const count = head.getUint32(0, true);
    const omitted = head.getUint32(4, true);
    const pathsAt = HEAD_BYTES + count * (8 + 4 + ID_BYTES) + 4;
    if (bytes.length < pathsAt) return null;
    const sizes = new Float64Array(buffer, byteOffset + HEAD_BYTES, count);
    const offsets = new Uint32Array(buffer, byteOffset + HEAD_BYTES + count * 8, count + 1);
    const ids = bytes.subarray(pathsAt - count * ID_BYTES, pathsAt);
    const paths = bytes.subarray(pathsAt);
    return offsets[count] === paths.length
      ? new FileList(paths, offsets, ids, sizes, omitted)
      : null;
  }

  /** The same files in byte order of path. */
  reordered(): FileList {
    const order = Uint32Array.from({ length: this.length }, (_, index) => index)
      .sort((a, b) => compareBytes(this.pathBytes(a), this.pathBytes(b)));
    const paths = new Uint8Array(this.paths.length);
    const offsets = new Uint32Array(this.length + 1);
    const ids = new Uint8Array(this.ids.length);
    let at = 0;
    order.forEach((from, to) => {
      const path = this.pathBytes(from);
      paths.set(path, at);
      at += path.length;
      offsets[to + 1] = at;
      ids.set(this.ids.subarray(from * ID_BYTES, (from + 1) * ID_BYTES), to * ID_BYTES);
    });
    const sizes = Float64Array.from(order, (from) => this.sizes[from]!);
    return new FileList(paths, offsets, ids, sizes, this.omitted);
  }

  private pathBytes(index: number): Uint8Array {
    return this.paths.subarray(this.offsets[index]!, this.offsets[index + 1]!);
  }
}

/** Gathers files in any order, without an object a file. */
export class FileListBuilder {
  private paths = new Uint8Array(4096);
  private offsets = new Uint32Array(129);
  private ids = new Uint8Array(128 * ID_BYTES);
  private sizes = new Float64Array(128);
  private count = 0;
  private sorted = true;
  private omitted = 0;

  /** How many files were taken so far. */
  get length(): number {
    return this.count;
  }

  /** Takes one file: `id` is 40 hex digits, `size` in bytes. */
  add(file: ListedFile): void {
    const start = this.offsets[this.count]!;
    this.reserve(start + file.path.length * 3);
    const end = this.putPath(file.path, start);
    this.offsets[this.count + 1] = end;
    putId(this.ids, { id: file.id, at: this.count * ID_BYTES });
    this.sizes[this.count] = file.size;
    if (this.sorted && this.count > 0) this.sorted = this.isAfterLast(start, end);
    this.count++;
  }

  /** Counts files that are left out because their names are not UTF-8. */
  omit(count = 1): void {
    this.omitted += count;
  }

  // A list has up to a million files: what follows makes no object a file, which halves the time that it takes.

  private putPath(path: string, start: number): number {
    const { paths } = this;
    for (let i = 0; i < path.length; i++) {
      const code = path.charCodeAt(i);
      if (code > 0x7f) return start + encoder.encodeInto(path, paths.subarray(start)).written;
      paths[start + i] = code;
    }
    return start + path.length;
  }

  /** Whether the path at `[start, end)` comes after the one before it. */
  private isAfterLast(start: number, end: number): boolean {
    const { paths } = this;
    for (let a = this.offsets[this.count - 1]!, b = start; b < end; a++, b++) {
      if (a === start) return true;
      if (paths[a] !== paths[b]) return paths[a]! < paths[b]!;
    }
    return false;
  }

  /** Takes a list of a sub-folder; `prefix` is that folder's path. */
  addAll(list: FileList, prefix: string): void {
    for (let index = 0; index < list.length; index++) {
      const { path, id, size } = list.at(index);
      this.add({ path: `${prefix}/${path}`, id, size });
    }
    this.omit(list.omitted);
  }

  /** The list of all that was taken, in byte order of path. */
  build(): FileList {
    const list = new FileList(
      this.paths.slice(0, this.offsets[this.count]),
      this.offsets.slice(0, this.count + 1),
      this.ids.slice(0, this.count * ID_BYTES),
      this.sizes.slice(0, this.count),
      this.omitted,
    );
    return this.sorted ? list : list.reordered();
  }

  private reserve(pathBytes: number): void {
    if (pathBytes > this.paths.length) this.paths = grown(this.paths, pathBytes);
    if (this.count + 2 > this.offsets.length) {
      const capacity = this.sizes.length * 2;
      const offsets = new Uint32Array(capacity + 1);
      offsets.set(this.offsets);
      this.offsets = offsets;
      const sizes = new Float64Array(capacity);
      sizes.set(this.sizes);
      this.sizes = sizes;
      this.ids = grown(this.ids, capacity * ID_BYTES);
    }
  }
}

/** Writes 40 hex digits, lower case, as 20 bytes. */
function putId(ids: Uint8Array, { id, at }: { id: string; at: number }): void {
  for (let i = 0; i < ID_BYTES; i++) {
    ids[at + i] = hexDigit(id.charCodeAt(2 * i)) << 4 | hexDigit(id.charCodeAt(2 * i + 1));
  }
}

function hexDigit(code: number): number {
  return code < 0x3a ? code - 0x30 : code - 0x57;
}

function grown(bytes: Uint8Array<ArrayBuffer>, least: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(least, bytes.length * 2));
  larger.set(bytes);
  return larger;
}

/** Orders paths as lists do, by their bytes in UTF-8, where strings compare by UTF-16. */
export function comparePaths(a: string, b: string): number {
  return compareBytes(encoder.encode(a), encoder.encode(b));
}

/** Orders two byte strings as memcmp does, the shorter first where one begins the other. */
function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    if (a[i] !== b[i]) return a[i]! - b[i]!;
  }
  return a.length - b.length;
}
