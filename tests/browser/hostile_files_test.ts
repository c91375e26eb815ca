// Files that are made to keep a reader's tab busy: the page answers all the
// time, and says what it does not show.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { browserTest, link, says, shown, waitUntil } from "./browser.ts";

/** Files as people write them, which fill a preview. */
const FRIENDLY: Record<string, string> = {
  "code.ts": "const a = `x ${1}`; // one\n".repeat(3_500),
  "table.csv": `${Array(19).fill("abc").join()}\n`.repeat(500),
  "text.txt": "A line of words, and then another one.\n".repeat(2_500),
};

const CUT = "Cut: only a part of this is shown.";
const UNCOLORED =
  "The code is shown as plain text. This takes longer than 1 s to prepare.";

const BIDI = "a\u05d0";
const CELLS = Array.from({ length: 20_000 }, (_, at) => ({
  cell_type: at % 2 === 0 ? "code" : "markdown",
  source: "x = 1\n".repeat(10),
  outputs: [{ text: ["1\n"] }],
}));

/** Ten rectangles, ten times as many, and so on: 10^9 of them. */
const BOMB =
  `<svg xmlns="http://www.w3.org/2000/svg"><defs><path id="a0" d="M0 0h1v1z"/>${
    Array.from(
      { length: 9 },
      (_, at) => `<g id="a${at + 1}">${`<use href="#a${at}"/>`.repeat(10)}</g>`,
    ).join("")
  }</defs><use href="#a9"/></svg>`;

/**
 * Files that ask for as much work as a file can, and what the page says of
 * them.
 */
const HOSTILE: Record<string, [content: string, says: string]> = {
  "commas.csv": [",".repeat(1_000_000), CUT],
  "rows.csv": [`${",".repeat(99)}\n`.repeat(50_000), CUT],
  "long.toml": ["a".repeat(100_000), UNCOLORED],
  "deep.json": ["[".repeat(500_000) + "]".repeat(500_000), CUT],
  "wide.json": [`[${"[],".repeat(1_000_000)}0]`, CUT],
  "cells.ipynb": [JSON.stringify({ cells: CELLS }), CUT],
  "line.txt": ["a b ".repeat(2_500_000), CUT],
  "lines.txt": ["\n".repeat(1_000_000), CUT],
  "directions.txt": [BIDI.repeat(500_000), CUT],
  "marks.txt": [`a${"\u0301".repeat(1_000_000)}`, CUT],
  "paragraph.md": [`# A\n\n${BIDI.repeat(20_000)}\n`, CUT],
  "spans.md": [
    `<table><tr>${"<td colspan=1000>x</td>".repeat(99)}</tr></table>\n`,
    CUT,
  ],
  "bomb.svg": [
    BOMB,
    "The picture may take long to draw, because it has too many parts.",
  ],
  "picture.md": ["![of a bomb](bomb.svg)\n", "Picture not drawn: of a bomb"],
  "fields.md": [`---\na: "${BIDI.repeat(100_000)}"\n---\n# A\n`, CUT],
};

const TABS = "<p tabindex=1 accesskey=s>x</p>\n\n|a|\n|-|\n|b|\n";

const files = {
  ...FRIENDLY,
  ...Object.fromEntries(
    Object.entries(HOSTILE).map(([name, [content]]) => [name, content]),
  ),
  "tabs.md": TABS,
  "small.ts": "const a = 1;\n",
  "small.json": '{ "a": 1 }\n',
};

const folder = await Deno.makeTempDir();
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

/** A test with these files in a local folder. */
function fileTest(name: string, body: (page: Page) => Promise<void>): void {
  browserTest(name, async (open) => {
    await Deno.mkdir(`${folder}/files`, { recursive: true });
    for (const [path, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/files/${path}`, text);
    }
    const address = "?owner=local&repo=files&collection=%2F";
    await body(
      await open(address, { items: `${Object.keys(files).length} items` }),
    );
  }, { env: { LOCAL_REPOS_DIR: folder } });
}

/** Measures the longest time between two turns of the event loop. */
const METER = `globalThis.meter = { longestMs: 0, turns: 0 };
  let before = performance.now();
  const turn = () => {
    const now = performance.now();
    meter.longestMs = Math.max(meter.longestMs, now - before);
    meter.turns++;
    before = now;
    setTimeout(turn);
  };
  turn();`;

/**
 * Opens a file, and gives the longest stall of the page until `isReady`, and
 * until what was put in last is laid out and painted too.
 */
async function longestStallMs(
  page: Page,
  name: string,
  isReady: () => Promise<void>,
): Promise<number> {
  await page.evaluate("meter.longestMs = 0");
  await openFile(page, name);
  await isReady();
  await page.evaluate("globalThis.turnsBefore = meter.turns");
  await waitUntil(page, "meter.turns > turnsBefore + 20");
  return await page.evaluate<number>("meter.longestMs");
}

const openFile = (page: Page, name: string) =>
  page.evaluate(`document.querySelector('a[data-path="${name}"]').click()`);

const WAYS: readonly {
  what: string;
  isReady: (page: Page, name: string) => Promise<void>;
}[] = [
  {
    what: "no file stalls the page, which says what it cuts",
    async isReady(page, name) {
      await shown(page, ".file .meta .path", name);
      const [, text] = HOSTILE[name] ?? [];
      if (text !== undefined) {
        await page.locator(".file").getByText(text).first().waitFor();
      }
      await waitUntil(
        page,
        "document.querySelector('.file [aria-busy=true]') === null",
      );
    },
  },
  {
    what: "no answer stalls the page",
    async isReady(page, name) {
      await link(page.locator(".file"), "Request").click();
      await says(page.locator(".file .json"), `"name": "${name}"`);
    },
  },
];

for (const { what, isReady } of WAYS) {
  fileTest(what, async (page) => {
    await page.evaluate(METER);
    const stallMs = (name: string) =>
      longestStallMs(page, name, () => isReady(page, name));
    let friendlyMs = 0;
    // The first file loads what the others need too.
    for (const name of ["small.ts", ...Object.keys(FRIENDLY)]) {
      friendlyMs = Math.max(friendlyMs, await stallMs(name));
    }
    const stalls = [`friendly ${Math.round(friendlyMs)}`];
    for (const name of Object.keys(HOSTILE)) {
      let hostileMs = await stallMs(name);
      // A stall of the file comes each time, one of a busy machine does not.
      for (let tries = 1; tries < 4 && hostileMs >= 5 * friendlyMs; tries++) {
        await stallMs("small.ts");
        hostileMs = Math.min(hostileMs, await stallMs(name));
      }
      stalls.push(`${name} ${Math.round(hostileMs)}`);
      assert(hostileMs < 5 * friendlyMs, `${stalls.join(", ")} ms`);
    }
    console.log(`longest stalls: ${stalls.join(", ")} ms`);
  });
}

fileTest(
  "a worker starts when needed, and ends past its deadline",
  async (page) => {
    let started = 0;
    page.on("worker", () => started++);
    const shows = async (name: string, selector: string) => {
      await openFile(page, name);
      await page.locator(".file .meta .path", { hasText: name }).waitFor();
      await shown(page, `.file ${selector}`);
    };
    await shows("text.txt", ".block");
    assertEquals(started, 0);
    await shows("small.ts", ".hljs-keyword");
    await shows("small.json", ".tree .v-number");
    assertEquals(started, 1);
    await shows("long.toml", `.notice:has-text("${UNCOLORED}")`);
    await shows("small.ts", ".hljs-keyword");
    assertEquals(started, 2);
  },
);

fileTest(
  "Markdown takes no key and no place among the tab stops",
  async (page) => {
    // As if the service had let it through.
    await page.route("**/api/get-item-content?**", async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      if (typeof body.html !== "string") return route.fulfill({ response });
      const html = `<p tabindex="1" accesskey="s" inert>y</p>${body.html}`;
      return route.fulfill({
        response,
        body: JSON.stringify({ ...body, html }),
      });
    });
    await openFile(page, "tabs.md");
    await shown(page, ".prose td");
    assertEquals(await page.locator(".prose p").allTextContents(), ["y", "x"]);
    assertEquals(
      await page.locator(".prose :is(p[tabindex], [accesskey], [inert])")
        .count(),
      0,
    );
    // What scrolls sideways is reached by keyboard.
    assertEquals(
      await page.locator(".prose table").getAttribute("tabindex"),
      "0",
    );
  },
);
