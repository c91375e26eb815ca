// A real browser for tests: headless Chromium, driven by playwright-core. Every
// page is watched: an error in its console, which a violated policy is too, or
// a request to another host than this machine fails the test. Without a browser
// the tests are skipped, and say how to get one; in CI that is a failure.

import { assertEquals } from "@std/assert";
import { statSync } from "node:fs";
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Locator,
  Page,
} from "playwright-core";
import type { GitFiles } from "../github/git_repository.ts";
import { type Site, startSite } from "../site.ts";
import { root } from "../source_files.ts";

// The driver, when it is loaded, looks in /proc for Windows' Linux, which only
// all permissions would allow; this is the switch that is-wsl, which it uses,
// has for its own tests.
Deno.env.set("__IS_WSL_TEST__", "1");
const { chromium } = await import("playwright-core");

/**
 * Opens a page in a context of its own, and goes to an address of the site;
 * without one it stays empty. With `items`, the list shows them when it is
 * opened.
 */
type OpenPage = (
  address?: string,
  options?: BrowserContextOptions & { items?: string },
) => Promise<Page>;

/**
 * The whole service at `url`, with the examples of this project, and
 * `octo/site` at a GitHub double.
 */
export type ServedSite = Site & { readonly url: string };

/** The address of the posts of `octo/site`, without the site's own. */
export const POSTS = "?owner=octo&repo=site&collection=posts";

/** What `octo/site` has where a test names no other files. */
const FILES: GitFiles = { "docs/guide/start.md": "# Start\n" };
for (let n = 0; n < 12; n++) {
  const fields = `title: Post ${n}\ndate: 2025-01-${n + 10}\ntags: [${
    n % 3 ? "notes" : "news"
  }]`;
  FILES[`posts/p${String(n).padStart(2, "0")}.md`] =
    `---\n${fields}\n---\n# Post ${n}\n`;
}

const PATHS = [
  ...["chromium", "chromium-browser", "google-chrome"].map((name) =>
    `/usr/bin/${name}`
  ),
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:/Program Files/Google/Chrome/Application/chrome.exe",
];
// Root, as in a container of CI, has no sandbox.
const isRoot = Deno.build.os === "linux" && Deno.uid() === 0;
const FLAGS = [
  ...isRoot ? ["--no-sandbox"] : [],
  "--disable-gpu",
  "--disable-background-networking",
];

const named = Deno.env.get("CHROMIUM_PATH");
const executablePath = (named ? [named] : PATHS)
  .find((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
const isSkipped = executablePath === undefined && Deno.env.get("CI") !== "true";
if (isSkipped) {
  console.log(
    "skipped: no browser. Debian has one (apt-get install chromium); CHROMIUM_PATH names another.",
  );
}

let launched: Promise<Browser> | null = null;

// One browser for all tests of a file; each test has contexts of its own.
Deno.test.afterAll(async () => {
  await (await launched)?.close();
});

/**
 * A test that needs a browser, with `octo/site` of these files. What `reports`
 * matches may stand in the console.
 */
export function browserTest(
  name: string,
  body: (open: OpenPage, site: ServedSite) => Promise<void>,
  { files = FILES, reports, ...options }: {
    files?: GitFiles;
    reports?: RegExp;
    branch?: string;
    env?: Record<string, string>;
  } = {},
): void {
  Deno.test({
    name,
    ignore: isSkipped,
    // The driver keeps what it opened until the process ends.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      if (!executablePath) {
        throw new Error('Cannot run "chromium": it is not installed');
      }
      const browser =
        await (launched ??= chromium.launch({ executablePath, args: FLAGS }));
      const env = { LOCAL_REPOS_DIR: `${root}/examples` };
      await using site = await startSite(files, { env, ...options });
      const url = `http://127.0.0.1:${site.service.listen()}/`;
      const faults: string[] = [];
      const contexts: BrowserContext[] = [];
      try {
        await body(async (address, { items, ...options } = {}) => {
          const viewport = { width: 1440, height: 900 };
          const context = await browser.newContext({ viewport, ...options });
          contexts.push(context);
          const page = await context.newPage();
          page.setDefaultTimeout(30_000);
          watch(page, faults);
          if (address !== undefined) {
            await page.goto(new URL(address, url).href);
          }
          if (items !== undefined) await waitForItems(page, items);
          return page;
        }, { ...site, url });
      } finally {
        for (const context of contexts) await context.close();
      }
      assertEquals(faults.filter((fault) => !reports?.test(fault)), []);
    },
  });
}

const axe = await Deno.readTextFile(`${root}/node_modules/axe-core/axe.min.js`);

/** Fails for what axe finds, and for what sticks out of the window sideways. */
export async function assertAccessible(
  page: Page,
  view: string,
): Promise<void> {
  // Nothing is measured in the middle of an animation.
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.evaluate(`globalThis.axe ?? (() => { ${axe} })()`);
  const findings = await page.evaluate<string[]>(
    `axe.run({ rules: { "target-size": { enabled: true } } }).then(({ violations }) => violations.map(({ id, impact, nodes }) =>
      id + " (" + impact + "): " + nodes.map(({ html }) => html.slice(0, 200)).join(" | ")))`,
  );
  assertEquals(findings, [], view);
  const overflowPx = await page.evaluate(
    "document.documentElement.scrollWidth - innerWidth",
  );
  assertEquals(
    Math.max(0, overflowPx as number),
    0,
    `${view}: pixels that stick out`,
  );
}

/**
 * Waits for an expression to be true in the page; Playwright's own way needs
 * `eval`, which our pages forbid.
 */
export async function waitUntil(page: Page, expression: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => (${expression}) ? resolve() : requestAnimationFrame(look);
    look();
  })`);
}

/**
 * Waits for the list to show that it has this many items, or these rows of
 * them.
 */
export async function waitForItems(page: Page, text: string): Promise<void> {
  await page.locator(".pager .where", { hasText: text }).waitFor();
}

/** The link with this name. */
export function link(
  within: Page | Locator,
  name: string | RegExp,
  exact = false,
): Locator {
  return within.getByRole("link", { name, exact });
}

/** The button with this name. */
export function button(
  within: Page | Locator,
  name: string,
  exact = false,
): Locator {
  return within.getByRole("button", { name, exact });
}

/** Waits for the first such element, with a text where one is given. */
export async function shown(
  within: Page | Locator,
  selector: string,
  hasText: string | RegExp = "",
): Promise<void> {
  await within.locator(selector, { hasText }).first().waitFor();
}

/** Waits for a text. */
export async function says(
  within: Page | Locator,
  text: string | RegExp,
): Promise<void> {
  await within.getByText(text).waitFor();
}

/** Writes a picture of the page into the ignored folder `screenshots`. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${root}/screenshots/${name}.png` });
}

function watch(page: Page, faults: string[]): void {
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    // A status over 399 is an error to the console; some tests cause one.
    const isStatus = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isStatus) faults.push(message.text());
  });
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    const isHere = protocol === "data:" ||
      ["127.0.0.1", "localhost"].includes(hostname);
    if (!isHere) faults.push(`asked ${request.url()}`);
  });
}
