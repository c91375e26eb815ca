// The name of a file in its folder.

/** What follows the last slash of a path. */
export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
