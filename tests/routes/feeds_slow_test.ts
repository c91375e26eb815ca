// Feeds read by Python's feedparser, which names what is not well-formed or out
// of place. It is installed by pip.

import { assertEquals } from "@std/assert";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";
import { run } from "../static/run_command.ts";
import { FILES, TEMPLATE } from "./feed_files.ts";

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
    const textOf = async (format: string) => {
      const query = { linkTemplate: TEMPLATE, feedTitle: "A & <b>", format };
      return await (await site.service.get(listPath(query))).text();
    };
    const { items } = JSON.parse(await textOf("jsonfeed"));
    for (const format of ["atom", "rss"]) {
      const { entries, ...feed } = await parse(dir, await textOf(format));
      assertEquals(feed, {
        version: format === "atom" ? "atom10" : "rss20",
        warning: "",
        head: [true, true, true],
      });
      assertEquals(
        entries.map(([id, link]: string[]) => [id, link]),
        items.map(({ id, url }: Record<string, string>) => [id, url]),
      );
      for (const [, , title, content, hasDate] of entries.slice(0, 2)) {
        assertEquals([title, content, hasDate].map(Boolean), [
          true,
          true,
          true,
        ]);
      }
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
