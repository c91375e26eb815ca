// Why a piece of YAML or TOML is not read, in words that may be shown to anyone: one short line, and where.

const MAX_MESSAGE_CHARS = 160;

/** A text that is not read. `line` counts from 1 in that text; `message` is one line of at most 160 characters. */
export class DataError extends Error {
  override readonly name = "DataError";

  constructor(message: string, readonly line: number) {
    super(oneLine(message));
  }
}

/** The line, from 1, on which the character at `offset` stands. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  const end = Math.min(offset, text.length);
  for (let at = text.indexOf("\n"); at !== -1 && at < end; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

/** Parsers quote the text they stumbled over, which may be long and may hold anything. */
function oneLine(message: string): string {
  const line = message.trim().split("\n", 1)[0]!.replace(/[\s\p{C}]+/gu, " ").trim();
  const chars = [...line];
  return chars.length <= MAX_MESSAGE_CHARS
    ? line
    : chars.slice(0, MAX_MESSAGE_CHARS - 1).join("") + "…";
}
