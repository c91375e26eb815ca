// Tokens in a file, which is read again when it changes: a secret that is mounted, or that a job renews.

import type { Log } from "../../log.ts";
import { newToken, type Token, type TokenSupply } from "./tokens.ts";

const MAX_BYTES = 64 << 10;
/** Visible ASCII, since it goes into a header. */
const TOKEN = /^[\x21-\x7e]+$/;

/** The tokens of one file, separated by commas or white space. */
export class TokenFile implements TokenSupply {
  private tokens: readonly Token[] = [];
  /** What the file was like when it was last read. */
  private stamp = "";
  private reading: Promise<void> | null = null;
  /** Why it could not be read, or "". */
  private failure = "";

  constructor(private readonly path: string, private readonly log: Log) {}

  /** Reads the file where it has changed. @throws where it cannot be read, or has no tokens; then the former ones stay. */
  async read(): Promise<void> {
    const { mtime, size, ino } = await Deno.stat(this.path);
    const stamp = `${mtime?.getTime()} ${size} ${ino}`;
    if (stamp === this.stamp) return;
    // A file that stays as it is is not tried, nor logged, again.
    this.stamp = stamp;
    if (size > MAX_BYTES) throw new RangeError(`it has more than ${MAX_BYTES} bytes`);
    const secrets = (await Deno.readTextFile(this.path)).split(/[\s,]+/).filter(Boolean);
    if (secrets.length === 0 || !secrets.every((secret) => TOKEN.test(secret))) {
      throw new SyntaxError("it must have tokens, separated by commas or lines");
    }
    const known = new Map(this.tokens.map((token) => [token.secret, token]));
    this.tokens = secrets.map((secret, index) => {
      const token = known.get(secret) ?? newToken(secret, index + 1);
      token.place = index + 1;
      return token;
    });
  }

  tokensFor(): readonly Token[] {
    return this.tokens;
  }

  mayHave(): boolean {
    return this.tokens.some(({ isRefused }) => !isRefused);
  }

  renew(): Promise<void> {
    return this.reading ??= this.read().then(() => "", ({ name }) => name).then((reason) => {
      if (reason !== "" && reason !== this.failure) {
        this.log.warn("token file not read", { reason });
      }
      this.failure = reason;
      this.reading = null;
    });
  }
}
