// Elements made in one call. Text is always text: nothing here reads markup.

/**
 * Makes an element. `null`, `undefined` and `false` leave an attribute or a child out; `on…` takes a listener.
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Puts text where screen readers say it, and nowhere else. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}
