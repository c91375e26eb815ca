// Very many Markdown files for tests and benches, made one at a time. The same
// options give the same bytes.

/** Shape of generated files. */
export interface GeneratedFiles {
  /** Folder that contains the sub-folders; `posts` if left out. */
  prefix?: string;
  /**
   * Sub-folders, named `d000` and so on; 0 puts the files right into `prefix`.
   */
  folders: number;
  filesPerFolder: number;
  /** Least size of a file; 120 if left out. */
  bytes?: number;
  /** Whether all files have the same bytes, which is faster to make. */
  identical?: boolean;
}

/**
 * Paths and contents; each file has front matter with a title, a date, tags and
 * a draft mark.
 */
export function* generateFiles(
  { prefix = "posts", folders, filesPerFolder, bytes = 120, identical = false }:
    GeneratedFiles,
): Generator<readonly [path: string, content: string]> {
  for (let folder = 0; folder < Math.max(1, folders); folder++) {
    const dir = folders === 0
      ? prefix
      : `${prefix}/d${String(folder).padStart(3, "0")}`;
    for (let file = 0; file < filesPerFolder; file++) {
      const number = identical ? 0 : folder * filesPerFolder + file;
      yield [
        `${dir}/post-${String(file).padStart(5, "0")}.md`,
        markdown(number, bytes),
      ];
    }
  }
}

function markdown(number: number, bytes: number): string {
  // A stride that shares no factor with the range keeps the dates out of the
  // order of the paths.
  const day = new Date(Date.UTC(2020, 0, 1 + number * 7919 % 3001))
    .toISOString().slice(0, 10);
  const tags = number % 3 === 0 ? "[deno, web]" : "[git]";
  const head = `---\ntitle: Post ${number}\ndate: ${day}\ntags: ${tags}\n`;
  const text = `${head}draft: ${
    number % 10 === 0
  }\n---\n\n# Post ${number}\n\n`;
  return `${text}${
    "Words. ".repeat(Math.max(0, Math.ceil((bytes - text.length - 1) / 7)))
  }\n`;
}
