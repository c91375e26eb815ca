// Posts whose names and texts go wrong where a feed escapes too little.

/** An absolute address with two parameters. */
export const TEMPLATE = "https://example.com/blog/{slug}/?a=1&b=2";

/** Markup, the end of a CDATA section, and characters that XML lacks. */
export const EVIL = "a]]>b]]><entry>&amp;<script>x</script>\u0001\ufffe é 😀";

export const FILES = {
  "posts/2026/zwölf & eins.md":
    "---\ntitle: Twelve & <one>\ndate: 2026-03-01\nupdated: 2026-04-02T10:00:00+02:00\n" +
    "description: About *it*\n---\nA [link](../old.md) and ![a](a.png?x=1).\n",
  "posts/old.md": "---\ntitle: Old\npubDate: Jul 08 2022\n---\nText of old\n",
  "posts/evil.md": `---\ntitle: ${JSON.stringify(EVIL)}\n---\n${EVIL}\n`,
  "posts/bad.md": "---\ntitle: [a]\ndate: [2026]\n---\n<!-- nothing -->\n",
  "posts/image.png": "png",
  "posts/data.json": "{}",
};
