// The project's own TypeScript, and what each file imports: for tests that hold
// the layout together.

import { join } from "@std/path";

/** Where the project lies. */
export const root = join(import.meta.dirname!, "..");

/** One file; paths begin at the project's root. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
  /**
   * Files of the project, imported for types alone or not, statically or not.
   */
  readonly files: readonly string[];
}

const OUTSIDE = new Set(["node_modules", "data", "examples", "screenshots"]);
const IMPORT =
  /^(?:import|export)\s(?:[^;"]*?\sfrom\s*)?"(\.[^"]+)"|\bimport\("(\.[^"]+)"/gm;

/** Reads every .ts file of the project, in the order of paths. */
export async function readSourceFiles(folder = ""): Promise<SourceFile[]> {
  const entries = await Array.fromAsync(Deno.readDir(join(root, folder)));
  const files = await Promise.all(entries.map(async ({ name, isDirectory }) => {
    if (name.startsWith(".") || OUTSIDE.has(name)) return [];
    if (isDirectory) return await readSourceFiles(`${folder}${name}/`);
    return name.endsWith(".ts") ? [await readSourceFile(folder + name)] : [];
  }));
  return files.flat().sort((a, b) => a.path < b.path ? -1 : 1);
}

async function readSourceFile(path: string): Promise<SourceFile> {
  const text = await Deno.readTextFile(join(root, path));
  const pathOf = (specifier: string) =>
    new URL(specifier, `file:///${path}`).pathname.slice(1);
  return { path, text, files: importedBy(text).map(pathOf) };
}

/**
 * The files that a module imports, as they are written; examples in comments
 * are none.
 */
export function importedBy(text: string): string[] {
  return [...text.matchAll(IMPORT)].map(([, from, dynamic]) =>
    (from ?? dynamic)!
  );
}
