// Feeds read by Python's feedparser, which names what is not well-formed or out
// of place. It is installed by pip.

import { assertEquals } from "@std/assert";
import { listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";
import { root } from "../source_files.ts";
import { run } from "../static/run_command.ts";

const PROGRAM = `
import feedparser, json, sys
feed = feedparser.parse(open(sys.argv[1], "rb").read())
print(json.dumps({
    "version": feed.version,
    "warning": str(feed.get("bozo_exception", "")),
    "head": [bool(feed.feed.get(key)) for key in ("title", "link", "id" if feed.version == "atom10" else "title")],
    "entries": [[entry.id, entry.link, entry.title, "".join(part.value for part in entry.get("content", [])),
        bool(entry.get("published_parsed") or entry.get("updated_parsed"))] for entry in feed.entries],
}))
`;

const EVIL = "a]]>b]]><entry>&amp;<script>x</script>\u0001\ufffe é 😀";
const FILES = {
  "posts/2026/zwölf & eins.md":
    "---\ntitle: Twelve & <one>\ndate: 2026-03-01\nupdated: 2026-04-02T10:00:00+02:00\n---\nA [link](../old.md).\n",
  "posts/old.md": "---\ntitle: Old\npubDate: Jul 08 2022\n---\nText ]]> old\n",
  "posts/evil.md": `---\ntitle: ${
    JSON.stringify(EVIL)
  }\ndate: 2026-01-01\n---\n${EVIL}\n`,
};

/** Returns what feedparser reads of a text. */
async function parse(dir: string, text: string) {
  await Deno.writeTextFile(`${dir}/feed.xml`, text);
  const { stdout } = await new Deno.Command(`${dir}/venv/bin/python`, {
    args: ["-c", PROGRAM, `${dir}/feed.xml`],
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

const hasPython = await new Deno.Command("python3", {
  args: ["-m", "venv", "-h"],
})
  .output().then(({ success }) => success, () => false);

const test = {
  name: "feedparser reads Atom and RSS without a warning",
  ignore: !hasPython,
};
Deno.test(test, async () => {
  const dir = await Deno.makeTempDir();
  try {
    await run("python3", ["-m", "venv", `${dir}/venv`], { cwd: dir });
    await run(`${dir}/venv/bin/pip`, ["-q", "install", "feedparser"], {
      cwd: dir,
    });
    await using site = await startSite(FILES);
    await using blog = await startService({
      env: { LOCAL_REPOS_DIR: `${root}/examples` },
    });
    const linkTemplate = "https://example.com/blog/{slug}/?a=1&b=2";
    const local = { owner: "local", repo: "blog" };
    for (const [service, of] of [[site.service, {}], [blog, local]] as const) {
      const query = { ...of, linkTemplate, feedTitle: "A & <b>" };
      const json = await service.get(
        listPath({ ...query, format: "jsonfeed" }),
      );
      const { items } = await json.json();
      for (const format of ["atom", "rss"]) {
        const response = await service.get(listPath({ ...query, format }));
        const feed = await parse(dir, await response.text());
        const { version, warning, head, entries } = feed;
        assertEquals(
          { version, warning, head },
          {
            version: format === "atom" ? "atom10" : "rss20",
            warning: "",
            head: [true, true, true],
          },
        );
        assertEquals(
          entries.map(([id, link]: string[]) => [id, link]),
          items.map(({ id, url }: Record<string, string>) => [id, url]),
        );
        for (const [, , title, content, hasDate] of entries) {
          assertEquals([title !== "", content !== "", hasDate], [
            true,
            true,
            true,
          ]);
        }
      }
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
