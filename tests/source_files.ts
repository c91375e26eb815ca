// The project's own TypeScript, and what each file imports: for tests that hold the layout together.

import { join } from "@std/path";

/** Where the project lies. */
export const root = join(import.meta.dirname!, "..");

/** One file; paths begin at the project's root. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
  /** Files of the project, imported for types alone or not, statically or not. */
  readonly files: readonly string[];
  /** Packages as they are named, such as `zod`. */
  readonly packages: readonly string[];
}

const OUTSIDE = new Set(["node_modules", "data", "examples", "screenshots"]);
const SPECIFIER =
  /^\s*(?:import|export)\s(?:[^;'"]*?\sfrom\s*)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm;

/** Reads every .ts file of the project. */
export async function readSourceFiles(): Promise<SourceFile[]> {
  const paths = await listTypeScript("");
  return await Promise.all(paths.toSorted().map(readSourceFile));
}

async function listTypeScript(folder: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(root, folder))) {
    if (name.startsWith(".") || OUTSIDE.has(name)) continue;
    if (isDirectory) paths.push(...await listTypeScript(`${folder}${name}/`));
    else if (name.endsWith(".ts")) paths.push(folder + name);
  }
  return paths;
}

async function readSourceFile(path: string): Promise<SourceFile> {
  const text = await Deno.readTextFile(join(root, path));
  const specifiers = importedBy(text);
  const isFile = (specifier: string) => specifier.startsWith(".");
  return {
    path,
    text,
    files: specifiers.filter(isFile).map((specifier) =>
      new URL(specifier, `file:///${path}`).pathname.slice(1)
    ),
    packages: specifiers.filter((specifier) => !isFile(specifier)),
  };
}

/** What a module imports, as it is written; examples in comments are none. */
export function importedBy(text: string): string[] {
  return [...text.matchAll(SPECIFIER)].map(([, from, dynamic]) => (from ?? dynamic)!);
}
