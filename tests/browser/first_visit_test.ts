// What those see who come for the first time: on small screens, at a deployment
// of chosen repositories, at 400 % zoom, on paper.

import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  assertAccessible,
  browserTest,
  link,
  shown,
  waitForItems,
} from "./browser.ts";

const PHONE = { viewport: { width: 390, height: 844 } };
const POSTS = "?owner=local&repo=blog&collection=posts";

browserTest(
  "a phone shows the name of the product and what it does",
  async (open) => {
    const page = await open("", PHONE);
    await shown(page, ".list tbody");
    const text = await page.locator("body").innerText();
    assertMatch(text, /Repo Collections gives a folder of a repository/);
    await assertAccessible(page, "phone");
  },
);

browserTest(
  "a deployment of chosen repositories lists them",
  async (open) => {
    const page = await open("");
    await link(page, "octo/site").waitFor();
    const text = await page.locator(".welcome").innerText();
    assert(!/Type owner\/repo/.test(text), text);
    assertMatch(text, /chosen repositories only, and those of acme\./);
    await assertAccessible(page, "chosen");
    await link(page, "octo/site").click();
    await waitForItems(page, "items");
  },
  { env: { LOCAL_REPOS_DIR: "none", ALLOWED_REPOS: "octo/site,acme/*" } },
);

browserTest("at 400 % zoom the whole page scrolls", async (open) => {
  const viewport = { width: 320, height: 256 };
  const page = await open(POSTS, { viewport, items: "12 items" });
  const [list, whole] = await page.evaluate<number[]>(
    "[document.querySelector('.list .body').clientHeight, document.documentElement.scrollHeight]",
  );
  assert(list! > 500 && whole! > list!, `${list} of ${whole}`);
  await assertAccessible(page, "zoom");
});

const PRINTED = [
  { what: "a list", address: POSTS, pane: ".list" },
  { what: "a request", address: `${POSTS}&view=request`, pane: ".api" },
];

for (const { what, address, pane } of PRINTED) {
  browserTest(`all of ${what} is printed`, async (open) => {
    const page = await open(address, {
      viewport: { width: 800, height: 600 },
    });
    await shown(page, `${pane} .body`);
    await shown(page, `${pane} :is(tbody, .json)`);
    await page.emulateMedia({ media: "print" });
    assertEquals(
      await page.locator(".pane.list").isVisible(),
      pane === ".list",
    );
    const cut = await page.evaluate(
      `[...document.querySelectorAll("body, #app, .panes, ${pane}, ${pane} .body")]
        .filter((part) => part.scrollHeight > part.clientHeight + 2).map((part) => part.className)`,
    );
    assertEquals(cut, []);
  });
}

browserTest(
  "the first Tab leads to a link that skips the bar",
  async (open) => {
    const page = await open(POSTS, { items: "12 items" });
    await page.keyboard.press("Tab");
    const focused = await page.evaluate("document.activeElement.textContent");
    assertEquals(focused, "Skip to the content");
    await page.keyboard.press("Enter");
    assertEquals(await page.evaluate("document.activeElement.id"), "main");
    const stops = await page.locator("button.hidden:not([tabindex='-1'])")
      .count();
    assertEquals(stops, 0);
  },
);

browserTest(
  "the header of a problem page fits into 320 pixels",
  async (open) => {
    const viewport = { width: 320, height: 568 };
    const page = await open("problems/item-not-found", { viewport });
    const [brand, links] = await page.evaluate<
      { right: number; bottom: number; left: number; top: number }[]
    >(
      "['.brand', '.pages'].map((name) => document.querySelector(name).getBoundingClientRect().toJSON())",
    );
    assert(brand!.right <= links!.left || brand!.bottom <= links!.top);
  },
);

browserTest(
  "the reference says which examples cannot be tried here",
  async (open) => {
    const page = await open("reference");
    const note = page.getByText("local/blog is not served here");
    await note.first().waitFor();
    assertEquals(await link(page, "Try it").count(), 0);
  },
  { env: { LOCAL_REPOS_DIR: "none" } },
);

browserTest("forced colors show what is selected", async (open) => {
  const page = await open(`${POSTS}&path=posts%2F2025%2Frain-and-rye.md`, {
    items: "12 items",
  });
  await shown(page, ".prose");
  await page.emulateMedia({ forcedColors: "active" });
  const selected = [
    "tr.current a[data-path]",
    ".views [aria-current]",
    ".folders a[aria-current]",
  ];
  for (const name of selected) {
    const style = await page.evaluate(
      `getComputedStyle(document.querySelector(${
        JSON.stringify(name)
      })).outlineStyle`,
    );
    assertEquals([name, style], [name, "solid"]);
  }
});

browserTest("reduced motion leaves no motion", async (open) => {
  const page = await open(POSTS, { items: "12 items" });
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.route("**/api/**", () => {});
  await link(page.locator("thead"), "Title").click();
  await shown(page, ".list .skeleton");
  const moving = await page.evaluate("document.getAnimations().length");
  assertEquals(moving, 0);
});

browserTest("plain http can copy too", async (open, { url }) => {
  const page = await open();
  await page.addInitScript(
    "Object.defineProperty(navigator, 'clipboard', { value: undefined })",
  );
  await page.goto(url + POSTS);
  await page.evaluate(
    "document.addEventListener('copy', () => { globalThis.copied = String(getSelection()); })",
  );
  await page.locator(".code-head").getByText("Copy").click();
  await page.locator(".code-head").getByText("Copied").waitFor();
  const copied = await page.evaluate<string>("globalThis.copied");
  assertMatch(copied, /^http.*list-collection-items\?owner=local/);
});

const ALERTS = ["note", "tip", "important", "warning", "caution"];

browserTest(
  "alerts have one bar each, and looks of their own",
  async (open) => {
    const page = await open("?owner=octo&repo=site&collection=/&path=a.md");
    await shown(page, ".markdown-alert");
    const looks = await page.evaluate<{ color: string; bars: number }[]>(
      `[...document.querySelectorAll(".markdown-alert")].map((alert) => ({
        color: getComputedStyle(alert).borderLeftColor,
        bars: [alert, ...alert.querySelectorAll("*")]
          .filter((part) => getComputedStyle(part).borderLeftWidth !== "0px").length,
      }))`,
    );
    assertEquals(looks.map(({ bars }) => bars), ALERTS.map(() => 1));
    assertEquals(new Set(looks.map(({ color }) => color)).size, ALERTS.length);
    await assertAccessible(page, "alerts");
  },
  {
    files: {
      "a.md": ALERTS.map((name) => `> [!${name.toUpperCase()}]\n> Text.\n`)
        .join("\n"),
    },
  },
);
