// bench/RESULTS.md: one section for each bench that writes there, so that one can be measured anew without the others.

import { join } from "@std/path";

const FILE = join(import.meta.dirname!, "RESULTS.md");
const HEAD = `# Results

Printed by the tasks of \`bench/\`, and written here by their \`--write\`. Ratios of one run on one machine say more than
its absolute numbers do.
`;

/** Puts a bench's report in place of its last one; `section` is a word that names the bench. */
export async function writeResults(section: string, markdown: string): Promise<void> {
  const old = await Deno.readTextFile(FILE).catch(() => HEAD);
  const [start, end] = [`<!-- ${section} -->`, `<!-- end of ${section} -->`];
  const part = `${start}\n\n${markdown.trim()}\n\n${end}\n`;
  const from = old.indexOf(start);
  const to = old.indexOf(end);
  await Deno.writeTextFile(
    FILE,
    from < 0 || to < from
      ? `${old.trimEnd()}\n\n${part}`
      : old.slice(0, from) + part + old.slice(to + end.length + 1),
  );
}
