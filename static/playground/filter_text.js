// Filters as one line of text, `frontMatter.draft=!true & name=*.md`: what the form shows and takes. A value's own `&`
// and `%`, and a key's `=`, stand there as in an address.

/**
 * Filters as text.
 * @param {string[][]} pairs Keys and values.
 */
export function filterText(pairs) {
  const encode = (/** @type {string} */ text) => text.replace(/[%&]/g, encodeURIComponent);
  return pairs.map(([key = "", value = ""]) =>
    `${encode(key).replaceAll("=", "%3D")}=${encode(value)}`
  ).join(" & ");
}

/**
 * The keys and values that a text means; without a key it is about names.
 * @param {string} text
 */
export function parseFilterText(text) {
  return text.split("&").map((part) => part.trim()).filter((part) => part !== "").map((part) => {
    const at = part.indexOf("=");
    const pair = at < 0 ? ["name", part] : [part.slice(0, at), part.slice(at + 1)];
    return pair.map((side) => side.trim().replace(/%(25|26|3D)/g, decodeURIComponent));
  });
}
