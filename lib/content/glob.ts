// Matches paths against a glob without a regular expression, whose backtracking could take exponential time. The literals
// between stars are searched one after the other, each from where the one before ended, so that a path is read once.

const MAX_STARS = 16;
const MAX_SEGMENTS = 32;

/**
 * Compiles a glob to a test of whole paths. `*` stands for any characters of one segment, `?` for one of them, `**` as a
 * whole segment for any number of segments (at the end for at least one). Brackets, braces and backslashes are ordinary
 * characters, as they are in file names such as `[slug].md`.
 * @throws {SyntaxError} for a pattern that no path can match, with `**` as part of a segment, with more than 16 stars or
 * more than 32 segments.
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
  if (stars > MAX_STARS) throw new SyntaxError(`it has more than ${MAX_STARS} stars`);
  // A `**` at the end stands for at least one segment.
  if (segments.at(-1) === "**") segments.push("*");
  return matchPath(segments);
}

type Test<Part> = (part: Part) => boolean;

/** A test of a path; the segments between two `**` are a run. */
function matchPath(segments: readonly string[]): (path: string) => boolean {
  const runs: Test<string>[][] = [[]];
  for (const segment of segments) {
    if (segment === "**") runs.push([]);
    else runs.at(-1)!.push(matchSegment(segment));
  }
  return (path) => matchTests(runs, path.split("/"));
}

/** A test of one segment; `?` stands for one character, one outside the BMP too. */
function matchSegment(pattern: string): Test<string> {
  const literals = pattern.split("*");
  if (pattern.includes("?")) {
    const runs = literals.map((literal) =>
      Array.from(literal, (char) => (other: string) => char === "?" || char === other)
    );
    return (name) => matchTests(runs, [...name]);
  }
  return (name) =>
    matchRuns(literals, name.length, (literal, from, to) => {
      if (from === to) return name.startsWith(literal, from) ? from : -1;
      return name.indexOf(literal, from);
    });
}

function matchTests<Part>(runs: readonly (readonly Test<Part>[])[], parts: readonly Part[]) {
  return matchRuns(runs, parts.length, (run, from, to) => {
    for (let at = from; at <= to; at++) {
      if (run.every((matches, offset) => matches(parts[at + offset]!))) return at;
    }
    return -1;
  });
}

/**
 * Whether something of this length consists of these runs, the first at the start and the last at the end, with anything
 * in between. `find` gives the first position of a run, or -1 where it is not found up to `to`.
 */
function matchRuns<Run extends { readonly length: number }>(
  [first, ...others]: readonly Run[],
  length: number,
  find: (run: Run, from: number, to: number) => number,
): boolean {
  const last = others.pop();
  let at = first!.length;
  if (last === undefined) return length === at && find(first!, 0, 0) === 0;
  const end = length - last.length;
  if (end < at || find(first!, 0, 0) < 0 || find(last, end, end) < 0) return false;
  for (const run of others) {
    const to = end - run.length;
    const found = find(run, at, to);
    if (found < 0 || found > to) return false;
    at = found + run.length;
  }
  return true;
}
