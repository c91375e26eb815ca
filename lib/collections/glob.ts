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
  /** One pattern a segment. */
  private readonly segments: readonly string[];

  /** @throws {SyntaxError} for a pattern that no path can match, that is too long, or with `**` as part of a segment. */
  constructor(pattern: string) {
    if (pattern.length > MAX_PATTERN_CHARS) {
      throw new SyntaxError(`it is longer than ${MAX_PATTERN_CHARS} characters`);
    }
    // deno-lint-ignore no-control-regex -- no path that is served has one
    if (/[\u0000-\u001f\u007f]/.test(pattern)) throw new SyntaxError("it has a control character");
    const segments = pattern.split("/");
    for (const segment of segments) {
      if (segment === "" || segment === "." || segment === "..") {
        throw new SyntaxError('a segment of it is empty, "." or ".."');
      }
      if (segment !== "**" && segment.includes("**")) {
        throw new SyntaxError('"**" has to be a whole segment');
      }
    }
    // A `**` at the end stands for at least one segment.
    this.segments = segments.at(-1) === "**" ? [...segments, "*"] : segments;
  }

  /** Whether the whole of `path` matches. */
  matches(path: string): boolean {
    return matchSequence(this.segments, path.split("/"), "**", matchesSegment);
  }
}

/** A character outside the BMP is one `?`. */
function matchesSegment(pattern: string, text: string): boolean {
  const isBmp = !/[\ud800-\udfff]/.test(text);
  const matchesChar = (one: string, char: string) => one === "?" || one === char;
  return isBmp
    ? matchSequence(pattern, text, "*", matchesChar)
    : matchSequence([...pattern], [...text], "*", matchesChar);
}

/** Matches parts one by one; `star` takes as few of them as it can, then one more. */
function matchSequence(
  patterns: ArrayLike<string>,
  parts: ArrayLike<string>,
  star: string,
  matchesPart: (pattern: string, part: string) => boolean,
): boolean {
  let at = 0;
  let next = 0;
  /** Where the last star is, and how many parts it and everything before it have taken. */
  let starAt = -1;
  let taken = 0;
  while (at < parts.length) {
    const pattern = patterns[next];
    if (pattern === star) {
      starAt = next++;
      taken = at;
    } else if (pattern !== undefined && matchesPart(pattern, parts[at]!)) {
      next++;
      at++;
    } else if (starAt >= 0) {
      next = starAt + 1;
      at = ++taken;
    } else return false;
  }
  while (patterns[next] === star) next++;
  return next === patterns.length;
}
