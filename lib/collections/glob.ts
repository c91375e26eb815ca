// Matches paths against a glob without a regular expression, whose backtracking could take exponential time: a star that
// fails takes one more character, a `**` one more segment, and earlier parts are never tried again.

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
  /** One pattern a segment; null is `**`. */
  private readonly segments: readonly (string | null)[];

  /** @throws {SyntaxError} for a pattern that no path can match, that is too long, or with `**` as part of a segment. */
  constructor(pattern: string) {
    if (pattern.length > MAX_PATTERN_CHARS) {
      throw new SyntaxError(`it is longer than ${MAX_PATTERN_CHARS} characters`);
    }
    // deno-lint-ignore no-control-regex -- no path that is served has one
    if (/[\u0000-\u001f\u007f]/.test(pattern)) throw new SyntaxError("it has a control character");
    const segments = pattern.split("/").map((segment) => {
      if (segment === "" || segment === "." || segment === "..") {
        throw new SyntaxError('a segment of it is empty, "." or ".."');
      }
      if (segment === "**") return null;
      if (segment.includes("**")) throw new SyntaxError('"**" has to be a whole segment');
      return segment;
    });
    // A `**` at the end stands for at least one segment.
    this.segments = segments.at(-1) === null ? [...segments, "*"] : segments;
  }

  /** Whether the whole of `path` matches. */
  matches(path: string): boolean {
    const { segments } = this;
    const parts = path.split("/");
    let at = 0;
    let next = 0;
    /** The last `**`, and how many parts it and everything before it have taken. */
    let star = -1;
    let taken = 0;
    while (at < parts.length) {
      const segment = segments[next];
      if (segment === null) {
        star = next++;
        taken = at;
      } else if (segment !== undefined && matchesSegment(segment, parts[at]!)) {
        next++;
        at++;
      } else if (star >= 0) {
        next = star + 1;
        at = ++taken;
      } else return false;
    }
    return next === segments.length;
  }
}

/** The same for characters: `*` takes as few as it can, then one more. */
function matchesSegment(pattern: string, text: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let taken = 0;
  while (at < text.length) {
    const char = pattern[next];
    if (char === "*") {
      star = next++;
      taken = at;
    } else if (char === "?") {
      // A character outside the BMP takes two places.
      at += text.codePointAt(at)! > 0xffff ? 2 : 1;
      next++;
    } else if (char !== undefined && char === text[at]) {
      at++;
      next++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++taken;
    } else return false;
  }
  while (pattern[next] === "*") next++;
  return next === pattern.length;
}
