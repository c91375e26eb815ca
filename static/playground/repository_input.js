// What people type or paste for a repository: owner/repo, the address of a repository, of one of its folders or of one of
// its files, at GitHub or at a host that is laid out like it.

const NAME = /^[A-Za-z0-9._-]+$/;

/**
 * What the text names, or null where it names no repository. A branch with a slash cannot be told from a folder in an
 * address: its first part is taken.
 * @param {string} text
 * @returns {{ owner: string, repo: string, branch?: string, folder?: string, file?: string } | null}
 */
export function parseRepository(text) {
  const trimmed = text.trim();
  const remote = trimmed.match(/^(?:ssh:\/\/)?git@[^:/]+[:/](.+)$/)?.[1];
  const address = trimmed.match(/^(?:git\+)?https?:\/\/[^/]+\/(.*)$/i)?.[1] ??
    trimmed.match(/^(?:www\.)?github\.com\/(.*)$/i)?.[1];
  const [path = ""] = (remote ?? address ?? trimmed).split(/[?#]/);
  const isAddress = remote !== undefined || address !== undefined;
  const segments = path.split("/").filter((segment) => segment !== "").map(decode);
  const [owner, name, word, branch, ...rest] = segments;
  if (owner === undefined || name === undefined) return null;
  const repo = name.replace(/\.git$/i, "");
  if (!NAME.test(owner) || !NAME.test(repo)) return null;
  if (word === undefined) return { owner, repo };
  if (!["tree", "blob", "raw", "edit", "blame", "commits"].includes(word) || branch === undefined) {
    // Issues, releases and the like: still the repository that is meant.
    return isAddress ? { owner, repo } : null;
  }
  const place = rest.join("/");
  if (place === "") return { owner, repo, branch };
  return word === "tree" || word === "commits"
    ? { owner, repo, branch, folder: place }
    : { owner, repo, branch, file: place };
}

/**
 * What the form's fields become by a text in the one for the repository, `shown` being the repository that the others are
 * about: an address that names a folder or another repository leaves nothing of what stood there. Null where the text
 * names no repository.
 * @param {string} text
 * @param {string} shown
 * @returns {{ repository: string, file?: string, [field: string]: string | undefined } | null}
 */
export function meantFields(text, shown) {
  const named = parseRepository(text);
  if (named === null) return null;
  const repository = `${named.owner}/${named.repo}`;
  const { branch, file } = named;
  const cleared = { page: "", sort: "", filter: "" };
  if (branch !== undefined) {
    const collection = (named.folder ?? file?.split("/").slice(0, -1).join("/")) || "/";
    return { repository, collection, branch, ...cleared, ...file === undefined ? {} : { file } };
  }
  const isAddress = /^[^/]*[:.]/.test(text.trim());
  return isAddress && repository.toLowerCase() !== shown.toLowerCase()
    ? { repository, collection: "/", branch: "", ...cleared }
    : { repository };
}

/** @param {string} segment */
function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
