// Matches paths against a glob in a time that grows with the path alone: the pattern becomes a small automaton whose
// states are bits, and no step is ever taken back. `*`, `?` and `**` are special, everything else stands for itself.

const SLASH = 0x2f;
const MAX_PATTERN_CHARS = 1024;

/**
 * A compiled glob. `*` stands for any characters of one segment, `?` for one of them, `**` as a whole segment for any
 * number of segments (at the end for at least one). Brackets, braces and backslashes are ordinary characters, as they
 * are in file names such as `[slug].md`.
 *
 * @example
 * ```ts
 * new Glob("2026/**").matches("2026/05/hello.md"); // true
 * new Glob("*.md").matches("2026/hello.md"); // false
 * ```
 */
export class Glob {
  /** Bit i of a state: all tokens before token i have been matched. */
  private state: Uint32Array;
  private next: Uint32Array;
  private readonly start: Uint32Array;
  private readonly tokenCount: number;
  /** Tokens that a character moves past, by code point; `anyAdvance` for characters that the pattern does not name. */
  private readonly advance = new Map<number, Uint32Array>();
  private readonly anyAdvance: Uint32Array;
  /** Tokens that stay active over a character other than the slash; the same may match nothing. */
  private readonly stay: Uint32Array;
  private readonly stayOverSlash: Uint32Array;

  /** @throws {SyntaxError} for a pattern that no path can match, that is too long, or whose `**` has company. */
  constructor(pattern: string) {
    const tokens = tokenize(pattern);
    this.tokenCount = tokens.length;
    const wordCount = (tokens.length >> 5) + 1;
    const mask = (test: (token: Token) => boolean) => toMask(tokens, { wordCount, test });
    this.anyAdvance = mask((token) =>
      token === "?" || token === "*" || token === "any" || token === "rest"
    );
    this.stay = mask((token) => token === "*" || token === "**/" || token === "rest");
    this.stayOverSlash = mask((token) => token === "**/" || token === "rest");
    this.advance.set(
      SLASH,
      mask((token) => token === "**/" || token === "any" || token === "rest"),
    );
    tokens.forEach((char, index) => {
      if (typeof char !== "number") return;
      if (!this.advance.has(char)) this.advance.set(char, this.anyAdvance.slice());
      this.advance.get(char)![index >> 5]! |= 1 << (index & 31);
    });
    this.start = new Uint32Array(wordCount);
    this.start[0] = 1;
    this.close(this.start);
    this.state = new Uint32Array(wordCount);
    this.next = new Uint32Array(wordCount);
  }

  /** Whether the whole of `path` matches. */
  matches(path: string): boolean {
    this.state.set(this.start);
    for (let at = 0; at < path.length; at++) {
      const char = path.codePointAt(at)!;
      if (char > 0xffff) at++;
      if (!this.step(char)) return false;
    }
    return (this.state[this.tokenCount >> 5]! >>> (this.tokenCount & 31) & 1) === 1;
  }

  /** Takes one character; false when no state is left. */
  private step(char: number): boolean {
    const { state, next } = this;
    const advance = this.advance.get(char) ?? this.anyAdvance;
    const stay = char === SLASH ? this.stayOverSlash : this.stay;
    let carry = 0;
    for (let word = 0; word < state.length; word++) {
      const moved = state[word]! & advance[word]!;
      next[word] = (moved << 1) | carry;
      carry = moved >>> 31;
    }
    this.close(next);
    let alive = 0;
    for (let word = 0; word < state.length; word++) {
      next[word]! |= state[word]! & stay[word]!;
      alive |= next[word]!;
    }
    this.next = state;
    this.state = next;
    return alive !== 0;
  }

  /** Lets tokens that were just reached match nothing; twice, since at most two such tokens adjoin. */
  private close(state: Uint32Array): void {
    for (let pass = 0; pass < 2; pass++) {
      let carry = 0;
      for (let word = 0; word < state.length; word++) {
        const moved = state[word]! & this.stay[word]!;
        state[word]! |= (moved << 1) | carry;
        carry = moved >>> 31;
      }
    }
  }
}

/** A code point; or `*`, `?`, `**` with its slash; or, for a final `**`, one character and then the rest. */
type Token = number | "*" | "?" | "**/" | "any" | "rest";

function tokenize(pattern: string): Token[] {
  if (pattern.length > MAX_PATTERN_CHARS) {
    throw new SyntaxError(`it is longer than ${MAX_PATTERN_CHARS} characters`);
  }
  // deno-lint-ignore no-control-regex -- no path that is served has one
  if (/[\u0000-\u001f\u007f]/.test(pattern)) throw new SyntaxError("it has a control character");
  const segments = pattern.split("/");
  const tokens: Token[] = [];
  segments.forEach((segment, index) => {
    if (segment === "" || segment === "." || segment === "..") {
      throw new SyntaxError('a segment of it is empty, "." or ".."');
    }
    const last = index === segments.length - 1;
    if (segment === "**") {
      if (last) tokens.push("any", "rest");
      // A second one in a row adds nothing.
      else if (tokens.at(-1) !== "**/") tokens.push("**/");
      return;
    }
    if (segment.includes("**")) throw new SyntaxError('"**" has to be a whole segment');
    for (const char of segment) {
      tokens.push(char === "*" || char === "?" ? char : char.codePointAt(0)!);
    }
    if (!last) tokens.push(SLASH);
  });
  return tokens;
}

function toMask(
  tokens: readonly Token[],
  { wordCount, test }: { wordCount: number; test: (token: Token) => boolean },
): Uint32Array {
  const words = new Uint32Array(wordCount);
  tokens.forEach((token, index) => {
    if (test(token)) words[index >> 5]! |= 1 << (index & 31);
  });
  return words;
}
