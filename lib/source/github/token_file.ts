// Tokens in a file, which is read again when it changes: a secret that is mounted, or that a job renews.

import type { Log } from "../../log.ts";
import { newToken, type Token, type TokenSupply } from "./tokens.ts";

/** Visible ASCII, since it goes into a header. */
const TOKENS = /^[\x21-\x7e\s]+$/;

/** The tokens of one file, separated by commas or white space. */
export class TokenFile implements TokenSupply {
  private tokens: readonly Token[] = [];
  /** What the file was like when it was last read, or why it could not be. */
  private stamp = "";

  constructor(private readonly path: string, private readonly log: Log) {}

  /** Reads the file where it has changed. @throws where it cannot be read, or has no tokens; then the former ones stay. */
  async read(): Promise<void> {
    const stamp = await Deno.stat(this.path)
      .then(({ mtime, size, ino }) => `${mtime?.getTime()} ${size} ${ino}`, ({ name }) => name);
    if (stamp === this.stamp) return;
    // A file that stays as it is is not tried, nor logged, again.
    this.stamp = stamp;
    const text = await Deno.readTextFile(this.path);
    const secrets = text.split(/[\s,]+/).filter(Boolean);
    if (secrets.length === 0 || !TOKENS.test(text)) {
      throw new SyntaxError("must have tokens, separated by commas or lines");
    }
    const known = new Map(this.tokens.map((token) => [token.secret, token]));
    this.tokens = secrets.map((secret, index) => {
      const token = known.get(secret) ?? newToken(secret, 0);
      token.place = index + 1;
      return token;
    });
  }

  readonly tokensFor = () => this.tokens;

  readonly renew = () =>
    this.read().catch(({ name }) => this.log.warn("token file not read", { reason: name }));
}
