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

/** The segments between two `**` are searched for as a run. */
function matchPath(segments: readonly string[]): (path: string) => boolean {
  const runs: ((name: string) => boolean)[][] = [[]];
  for (const segment of segments) {
    if (segment === "**") runs.push([]);
    else runs.at(-1)!.push(matchSegment(segment));
  }
  const [first, ...others] = runs;
  if (others.length === 0) {
    return (path) => {
      const names = path.split("/", first!.length + 1);
      return names.length === first!.length && holdsAt(first!, names, 0);
    };
  }
  const last = others.pop()!;
  const least = runs.reduce((sum, run) => sum + run.length, 0);
  return (path) => {
    const names = path.split("/");
    const end = names.length - last.length;
    if (names.length < least || !holdsAt(first!, names, 0) || !holdsAt(last, names, end)) {
      return false;
    }
    let at = first!.length;
    for (const run of others) {
      while (at + run.length <= end && !holdsAt(run, names, at)) at++;
      if (at + run.length > end) return false;
      at += run.length;
    }
    return at <= end;
  };
}

function holdsAt(
  run: readonly ((name: string) => boolean)[],
  names: readonly string[],
  at: number,
): boolean {
  return run.every((matches, offset) => matches(names[at + offset]!));
}

/** A test of one segment; `?` stands for one character, one outside the BMP too. */
function matchSegment(pattern: string): (name: string) => boolean {
  if (!/[*?]/.test(pattern)) return (name) => name === pattern;
  const literals = pattern.split("*");
  const first = literals.shift()!;
  const last = literals.pop();
  if (!pattern.includes("?")) {
    if (last === undefined) return (name) => name === first;
    return (name) => {
      const end = name.length - last.length;
      let at = first.length;
      if (end < at || !name.startsWith(first) || !name.endsWith(last)) return false;
      for (const literal of literals) {
        const found = name.indexOf(literal, at);
        if (found < 0 || found + literal.length > end) return false;
        at = found + literal.length;
      }
      return true;
    };
  }
  return (name) => {
    const chars = [...name];
    const [firstChars, lastChars] = [[...first], [...last ?? ""]];
    const end = chars.length - lastChars.length;
    let at = firstChars.length;
    if (last === undefined) return end === at && charsHold(firstChars, chars, 0);
    if (end < at || !charsHold(firstChars, chars, 0) || !charsHold(lastChars, chars, end)) {
      return false;
    }
    for (const literal of literals.map((text) => [...text])) {
      while (at + literal.length <= end && !charsHold(literal, chars, at)) at++;
      if (at + literal.length > end) return false;
      at += literal.length;
    }
    return true;
  };
}

function charsHold(literal: readonly string[], chars: readonly string[], at: number): boolean {
  return literal.every((char, offset) => char === "?" || char === chars[at + offset]);
}
