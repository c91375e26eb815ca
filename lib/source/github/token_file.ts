// Tokens in a file that is read again when it changes. The file may be a
// mounted secret or one that a job renews.

import type { Log } from "../../log.ts";
import { newToken, type Token, type TokenSupply } from "./tokens.ts";

/** Visible ASCII because tokens go into a header. */
const TOKENS = /^[\x21-\x7e\s]+$/;

/** The tokens of one file, separated by commas or white space. */
export class TokenFile implements TokenSupply {
  private tokens: readonly Token[] = [];
  /** State of the file when it was last read or the reason why it was not. */
  private stamp = "";

  constructor(private readonly path: string, private readonly log: Log) {}

  /**
   * Reads the file if it has changed. The former tokens stay if this throws.
   * @throws if the file cannot be read or has no tokens.
   */
  async read(): Promise<void> {
    const stamp = await Deno.stat(this.path)
      .then(
        ({ mtime, size, ino }) => `${mtime?.getTime()} ${size} ${ino}`,
        ({ name }) => name,
      );
    if (stamp === this.stamp) return;
    // An unchanged file is neither tried nor logged again.
    this.stamp = stamp;
    const text = await Deno.readTextFile(this.path);
    const secrets = text.split(/[\s,]+/).filter(Boolean);
    if (secrets.length === 0 || !TOKENS.test(text)) {
      throw new SyntaxError("must have tokens, separated by commas or lines");
    }
    const known = new Map(this.tokens.map((token) => [token.secret, token]));
    this.tokens = secrets.map((secret, index) => {
      const token = known.get(secret) ?? newToken(secret, 0);
      token.label = index + 1;
      return token;
    });
  }

  readonly tokensFor = () => this.tokens;

  readonly renew = () =>
    this.read().catch(({ name }) =>
      this.log.warn("token file not read", { reason: name })
    );
}
