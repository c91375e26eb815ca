// That something is loading: the bar at the top from the first moment on, and after a while a sentence that counts.

import { announce } from "./dom.js";

const bar = document.getElementById("progress");
const SAY_AFTER_MS = 1500;
/** Requests under way, by panel: one that was overtaken must not end the other's. */
const pending = new Map();

// Scripts load while the bar of the plain page is shown; from now on it stands for requests.
bar.hidden = true;

/**
 * Runs `work` while the page says that it is busy: `panel` keeps its content, dimmed, and `tell` is given a sentence when
 * it takes long, and null at the end.
 */
export async function whileBusy(panel, { tell, work }) {
  const startedAtMs = performance.now();
  count(panel, 1);
  const timer = setInterval(() => {
    const ms = performance.now() - startedAtMs;
    if (ms < SAY_AFTER_MS) return;
    tell(`Still asking the source: ${Math.round(ms / 1000)} s`);
    if (ms < SAY_AFTER_MS + 500) announce("Still loading");
  }, 500);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    tell(null);
    count(panel, -1);
  }
}

function count(panel, change) {
  const left = (pending.get(panel) ?? 0) + change;
  if (left > 0) pending.set(panel, left);
  else pending.delete(panel);
  panel.setAttribute("aria-busy", String(left > 0));
  bar.hidden = pending.size === 0;
}
