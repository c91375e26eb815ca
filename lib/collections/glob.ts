// Matches paths against a glob without a regular expression, whose backtracking could take exponential time: a star that
// fails takes one more character, a `**` one more segment, and earlier parts are never tried again.

/**
 * Compiles a glob to a test of whole paths. `*` stands for any characters of one segment, `?` for one of them, `**` as a
 * whole segment for any number of segments (at the end for at least one). Brackets, braces and backslashes are ordinary
 * characters, as they are in file names such as `[slug].md`.
 * @throws {SyntaxError} for a pattern that no path can match, or with `**` as part of a segment.
 * @example
 * ```ts
 * compileGlob("2026/**")("2026/05/hello.md"); // true
 * compileGlob("*.md")("2026/hello.md"); // false
 * ```
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  // deno-lint-ignore no-control-regex -- no path that is served has one
  if (/[\u0000-\u001f\u007f]/.test(pattern)) throw new SyntaxError("it has a control character");
  const segments = pattern.split("/");
  for (const segment of segments) {
    if (/^\.{0,2}$/.test(segment)) {
      throw new SyntaxError('a segment of it is empty, "." or ".."');
    }
    if (segment !== "**" && segment.includes("**")) {
      throw new SyntaxError('"**" has to be a whole segment');
    }
  }
  // A `**` at the end stands for at least one segment.
  if (segments.at(-1) === "**") segments.push("*");
  return (path) => matchSequence(segments, path.split("/"), "**", matchesSegment);
}

function matchesSegment(pattern: string, text: string): boolean {
  const matchesChar = (one: string, char: string) => one === "?" || one === char;
  // A character outside the BMP is one `?`.
  return /[\ud800-\udfff]/.test(text)
    ? matchSequence([...pattern], [...text], "*", matchesChar)
    : matchSequence(pattern, text, "*", matchesChar);
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
