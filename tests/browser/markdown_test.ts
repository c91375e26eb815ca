// Markdown of strangers in the playground: nothing in it runs, nothing is
// loaded from elsewhere, no name of the page is taken, and what is relative
// leads to the repository.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { browserTest, link, POSTS, shown, waitUntil } from "./browser.ts";

/**
 * What the page adds to the renderer's own safety, which
 * tests/markdown/safety_test.ts proves for every payload.
 */
const HOSTILE = `# Hostile

<script>globalThis.hit = "script"</script>
<img src="x" onerror="globalThis.hit = 'onerror'">
<a id="js" href="javascript:globalThis.hit='link'">run</a>
<p class="progress" style="position: fixed">dressed up</p>
<form action="https://evil.test/"><input name="repository" value="x"><button>Go</button></form>
<a id="app" name="announcer" href="#">clobber</a>
<img src="https://evil.test/pixel.png" alt="pixel">
<img src="https://evil.test/api/get-item-content?path=a" alt="content">
<a href="https://evil.test/api/get-item-content?owner=octo&repo=site&path=a">other host</a>
`;

const FRIENDLY = `# Friendly

![Here](img/a%20b.svg) ![Up](../root.svg) ![Root](/root.svg)

[Next](./next.md#part) [Elsewhere](https://example.test/) [Below](#far-below)

\`\`\`js
const one = 1;
\`\`\`

- [x] done

> [!NOTE]
> A note.

${"Text.\n\n".repeat(80)}
## Far below
`;

const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="12" height="12"></svg>';

browserTest("hostile Markdown does nothing", async (open) => {
  const page = await open(`${POSTS}&path=posts%2Fhostile.md`);
  const prose = page.locator(".prose");
  await prose.locator("h1").waitFor();
  await page.getByText("run", { exact: true }).click({ force: true });

  assertEquals(await page.evaluate("globalThis.hit"), undefined);
  assertEquals(new URL(page.url()).hostname, "127.0.0.1");
  for (
    const bad of ["script", "form", "button", "[onerror]", "[href^=javascript]"]
  ) {
    assertEquals(await prose.locator(bad).count(), 0, bad);
  }
  assertEquals(
    await prose.locator("[style], .progress, #app, [name=announcer]").count(),
    0,
  );
  // Pictures from elsewhere are links; the browser's watch fails the test if
  // one was requested.
  for (const name of ["pixel", "content"]) {
    assert(
      await prose.getByText(`Picture elsewhere: ${name}`).isVisible(),
      name,
    );
  }
  assertEquals(
    await prose.getByText("other host").getAttribute("target"),
    "_blank",
  );
}, {
  files: { "posts/hostile.md": HOSTILE },
  reports:
    /^(Executing|Applying) inline .* violates the following Content Security Policy/,
});

browserTest(
  "relative addresses lead to the repository, anchors within the page",
  async (open) => {
    const viewport = { width: 1200, height: 700 };
    const page = await open(`${POSTS}&path=posts%2F2026%2Ffriendly.md`, {
      viewport,
    });
    await shown(page, ".prose h1");

    const images = "[...document.querySelectorAll('.prose img')]";
    await waitUntil(
      page,
      `${images}.filter((image) => image.naturalWidth === 12).length === 3`,
    );
    await shown(page, ".prose .hljs-keyword", "const");
    assertEquals(await page.locator(".prose .markdown-alert-note").count(), 1);
    assertEquals(
      await page.getByRole("checkbox", { name: "Done" }).isDisabled(),
      true,
    );
    const elsewhere = link(page, "Elsewhere");
    assertEquals(
      await elsewhere.getAttribute("rel"),
      "noopener noreferrer nofollow",
    );
    await link(page, "Below").click();
    assertMatch(page.url(), /#user-content-far-below$/);
    const heading = "document.getElementById('user-content-far-below')";
    await waitUntil(
      page,
      `${heading}.getBoundingClientRect().top < innerHeight`,
    );
    await page.goBack();
    await link(page, "Next", true).click();
    await shown(page, ".prose h1", "Next one");
    assertEquals(
      new URL(page.url()).searchParams.get("path"),
      "posts/2026/next.md",
    );
  },
  {
    files: {
      "posts/2026/friendly.md": FRIENDLY,
      "posts/2026/next.md": "# Next one\n",
      "posts/2026/img/a b.svg": SVG,
      "posts/root.svg": SVG,
      "root.svg": SVG,
    },
  },
);

browserTest(
  "no script of this origin runs in the page but its own",
  async (open, site) => {
    const page = await open(POSTS);
    await shown(page, ".list tbody");
    const raw =
      "api/get-item-content?owner=octo&repo=site&path=evil.js&format=raw";

    for (const address of [raw, "client.js"]) {
      const code =
        `import("${site.url}${address}").then(() => "ran", () => "refused")`;
      assertEquals(await page.evaluate(code), "refused", address);
    }
    assertEquals(await page.evaluate("globalThis.hit"), undefined);
  },
  {
    files: { "posts/a.md": "# A\n", "evil.js": "globalThis.hit = 1;\n" },
    reports:
      /violates the following Content Security Policy directive: "script-src/,
  },
);

browserTest(
  "no script of this origin runs as a worker but the page's",
  async (open, site) => {
    const page = await open(`${POSTS}&path=code.js`);
    await shown(page, ".hljs-keyword");
    const raw =
      "api/get-item-content?owner=octo&repo=site&path=code.js&format=raw";

    const started = (address: string) =>
      `(() => { new Worker(${address}); return "started"; })()`;
    const refusal = (code: string) =>
      page.evaluate<string>(
        `(() => { try { return ${code}; } catch ({ name }) { return name; } })()`,
      );
    assertEquals(await refusal(started(`"${site.url}${raw}"`)), "TypeError");
    // The name of the page's own policy is taken, and there is no other.
    for (const name of ["worker", "other"]) {
      const policy =
        `trustedTypes.createPolicy("${name}", { createScriptURL: (url) => url })`;
      const code = `${policy}.createScriptURL("${site.url}${raw}")`;
      assertEquals(await refusal(started(code)), "TypeError", name);
    }
  },
  {
    files: { "posts/a.md": "# A\n", "code.js": "const a = 1;\n" },
    reports: /TrustedTypePolicy|TrustedScriptURL/,
  },
);
