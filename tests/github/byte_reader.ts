// Reads a byte stream by lines and by counts, as the output of `git cat-file` needs it.

/** Pulls lines and exact byte counts out of a stream of chunks. */
export class ByteReader {
  #source: ReadableStreamDefaultReader<Uint8Array>;
  #chunk = new Uint8Array(0);

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#source = stream.getReader();
  }

  /** The next line without its line feed, or null at the end of the stream. */
  async readLine(): Promise<string | null> {
    for (let from = 0;;) {
      const end = this.#chunk.indexOf(10, from);
      if (end >= 0) {
        const line = new TextDecoder().decode(this.#chunk.subarray(0, end));
        this.#chunk = this.#chunk.subarray(end + 1);
        return line;
      }
      from = this.#chunk.length;
      if (!await this.#pull()) return null;
    }
  }

  /** The next `count` bytes, as a copy. @throws {Error} if the stream ends before them. */
  async readBytes(count: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(count);
    for (let filled = 0; filled < count;) {
      if (this.#chunk.length === 0 && !await this.#pull()) {
        throw new Error(`Cannot read "${count} bytes": the stream ended after ${filled}`);
      }
      const part = this.#chunk.subarray(0, count - filled);
      bytes.set(part, filled);
      filled += part.length;
      this.#chunk = this.#chunk.subarray(part.length);
    }
    return bytes;
  }

  async #pull(): Promise<boolean> {
    const { done, value } = await this.#source.read();
    if (done) return false;
    if (this.#chunk.length === 0) {
      this.#chunk = new Uint8Array(value);
    } else {
      const joined = new Uint8Array(this.#chunk.length + value.length);
      joined.set(this.#chunk);
      joined.set(value, this.#chunk.length);
      this.#chunk = joined;
    }
    return true;
  }
}
