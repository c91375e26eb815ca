// Matches paths against a glob. A regular expression could backtrack for
// exponential time. This code searches the literals between stars one after the
// other. Each search begins at the end of the last match, so a path is scanned
// once.

const MAX_STARS = 16;
const MAX_SEGMENTS = 32;

/**
 * Compiles a glob to a test of whole paths. `*` stands for any characters of
 * one segment. `?` stands for one of them. `**` must be a whole segment and
 * stands for any number of segments. A trailing `**` stands for at least one.
 * Brackets, braces and backslashes are ordinary characters, as they are in file
 * names such as `[slug].md`.
 * @throws {SyntaxError} if no path can match the pattern, if `**` is only part
 * of a segment, or if there are more than 16 stars or 32 segments.
 * @example
 * ```ts
 * compileGlob("2026/**")("2026/05/hello.md"); // true
 * compileGlob("*.md")("2026/hello.md"); // false
 * ```
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  // deno-lint-ignore no-control-regex -- no path that is served has one
  if (/[\u0000-\u001f\u007f]/.test(pattern)) {
    throw new SyntaxError("it has a control character");
  }
  const segments = pattern.split("/");
  if (segments.length > MAX_SEGMENTS) {
    throw new SyntaxError(`it has more than ${MAX_SEGMENTS} segments`);
  }
  for (const segment of segments) {
    if (/^\.{0,2}$/.test(segment)) {
      throw new SyntaxError('a segment of it is empty, "." or ".."');
    }
    if (segment !== "**" && segment.includes("**")) {
      throw new SyntaxError('"**" has to be a whole segment');
    }
  }
  const stars = segments.reduce((sum, segment) => {
    return sum + (segment === "**" ? 1 : segment.split("*").length - 1);
  }, 0);
  if (stars > MAX_STARS) {
    throw new SyntaxError(`it has more than ${MAX_STARS} stars`);
  }
  // A trailing `**` stands for at least one segment.
  if (segments.at(-1) === "**") segments.push("*");
  return matchPath(segments);
}

type Test<Part> = (part: Part) => boolean;

/** Returns a test of paths. The segments between two `**` are a run. */
function matchPath(segments: readonly string[]): (path: string) => boolean {
  const runs: Test<string>[][] = [[]];
  for (const segment of segments) {
    if (segment === "**") runs.push([]);
    else runs.at(-1)!.push(matchSegment(segment));
  }
  return (path) => matchTests(runs, path.split("/"));
}

/**
 * Returns a test of one segment. `?` also matches a character outside the BMP.
 */
function matchSegment(pattern: string): Test<string> {
  const literals = pattern.split("*");
  if (pattern.includes("?")) {
    const runs = literals.map((literal) =>
      Array.from(
        literal,
        (char) => (other: string) => char === "?" || char === other,
      )
    );
    return (name) => matchTests(runs, [...name]);
  }
  return (name) =>
    matchRuns(literals, name.length, (literal, from, to) => {
      if (from === to) return name.startsWith(literal, from) ? from : -1;
      return name.indexOf(literal, from);
    });
}

function matchTests<Part>(
  runs: readonly (readonly Test<Part>[])[],
  parts: readonly Part[],
) {
  return matchRuns(runs, parts.length, (run, from, to) => {
    for (let at = from; at <= to; at++) {
      if (run.every((matches, offset) => matches(parts[at + offset]!))) {
        return at;
      }
    }
    return -1;
  });
}

/**
 * Returns whether `length` parts consist of these runs with anything between
 * them. The first run must be at the start and the last run at the end. `find`
 * returns the first position of a run up to `to`, or -1 if there is no match.
 */
function matchRuns<Run extends { length: number }>(
  [first, ...others]: readonly Run[],
  length: number,
  find: (run: Run, from: number, to: number) => number,
): boolean {
  const last = others.pop();
  let at = first!.length;
  if (last === undefined) return length === at && find(first!, 0, 0) === 0;
  const end = length - last.length;
  if (end < at || find(first!, 0, 0) < 0 || find(last, end, end) < 0) {
    return false;
  }
  for (const run of others) {
    const to = end - run.length;
    const found = find(run, at, to);
    if (found < 0 || found > to) return false;
    at = found + run.length;
  }
  return true;
}
