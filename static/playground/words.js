// Numbers and headers in plain words. Knows no page, so that it can be tested by itself.

/**
 * A size as people say it, by 1024.
 * @param {number} bytes
 */
export function sizeWords(bytes) {
  if (bytes < 1024) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  let value = bytes;
  let unit = "";
  for (unit of ["KB", "MB", "GB"]) {
    value /= 1024;
    if (value < 1023.5) break;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/**
 * A time as people say it.
 * @param {number} seconds
 */
export function durationWords(seconds) {
  const [value, unit] = seconds < 100
    ? [seconds, "second"]
    : seconds < 6000
    ? [Math.round(seconds / 60), "minute"]
    : [Math.round(seconds / 3600), "hour"];
  return `${value} ${unit}${value === 1 ? "" : "s"}`;
}

/**
 * A time of an answer, in milliseconds.
 * @param {number} ms
 */
export function timeWords(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/**
 * What `Age` says.
 * @param {string | null} age
 */
export function ageWords(age) {
  if (age === null) return null;
  return Number(age) === 0
    ? "Checked with the source just now"
    : `Checked with the source ${durationWords(Number(age))} ago`;
}

/**
 * What `Cache-Status` (RFC 9211) says.
 * @param {string | null} value
 */
export function cacheWords(value) {
  if (value === null) return null;
  const ttl = Number(value.match(/;\s*ttl=(-?\d+)/)?.[1] ?? NaN);
  if (/detail=stale-if-error/.test(value)) {
    return "The source cannot be asked at the moment; this is what it said last";
  }
  if (/;\s*hit/.test(value)) {
    return ttl > 0
      ? `Kept here, good for another ${durationWords(ttl)}`
      : "Kept here, and looked at again each time";
  }
  if (/detail=revalidated/.test(value)) {
    return "Kept here; the source says that nothing has changed";
  }
  if (/fwd=stale/.test(value)) return "The repository had changed; read anew and kept";
  return /;\s*stored/.test(value)
    ? "Read from the source, and kept for the next caller"
    : "Read from the source, and not kept";
}

/**
 * What kind of file a content type means.
 * @param {string} contentType
 * @returns {"markdown" | "image" | "audio" | "video" | "pdf" | "text"}
 */
export function kindOf(contentType) {
  if (/^text\/markdown\b/.test(contentType)) return "markdown";
  const main = contentType.match(/^(image|audio|video)\//)?.[1];
  if (main !== undefined) return /** @type {"image" | "audio" | "video"} */ (main);
  return /^application\/pdf\b/.test(contentType) ? "pdf" : "text";
}

/**
 * A content type as a short word for a table.
 * @param {string} contentType
 */
export function typeWords(contentType) {
  const [type = ""] = contentType.split(";");
  const kind = kindOf(contentType);
  if (kind === "markdown") return "Markdown";
  if (type === "application/octet-stream") return "Binary";
  if (type === "text/plain") return "Text";
  const name = type.slice(type.indexOf("/") + 1).replace(/^(x|vnd)[.-]/, "").replace(/\+xml$/, "");
  return name.length > 12 ? name.slice(0, 11) + "…" : name.toUpperCase();
}

/**
 * What a row says of an item's front matter: its title, and what the list is sorted by.
 * @param {Record<string, unknown> | undefined} frontMatter
 * @param {string} sort
 */
export function frontMatterWords(frontMatter, sort) {
  const keys = sort.match(/^-?frontMatter\.(.+)$/)?.[1]?.split(".") ?? [];
  let value = /** @type {any} */ (keys.length > 0 ? frontMatter : undefined);
  for (const key of keys) value = Object.hasOwn(value ?? {}, key) ? value[key] : undefined;
  const words = [frontMatter?.title, value].filter((one) =>
    ["string", "number"].includes(typeof one)
  );
  return [...new Set(words)].map(String);
}
