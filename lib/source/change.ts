// Makes the body of a commit that changed a file.

import type { Change } from "./source.ts";

const MAX_NAME_CHARS = 100;
const MAX_MESSAGE_CHARS = 500;

/** Returns a change with one line of the message and no e-mail address. */
export function changeOf(
  { date, commit, name, message }: {
    readonly date: string;
    readonly commit: string;
    readonly name: string;
    readonly message: string;
  },
): Change {
  return {
    date,
    commit,
    // Some people have set an address as their name.
    author: { name: cut(name.replace(/@[^\s@]+/g, ""), MAX_NAME_CHARS) },
    message: cut(message.split(/\r?\n/, 1)[0]!, MAX_MESSAGE_CHARS),
  };
}

function cut(text: string, maxChars: number): string {
  return text.trim().slice(0, maxChars).toWellFormed();
}
