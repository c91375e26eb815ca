// The loader of the example for Astro: what it reuses between builds, and what
// it keeps while HTML cannot be had.

import { assertEquals } from "@std/assert";
import { root } from "../source_files.ts";

type Item = {
  slug: string;
  sha: string;
  html?: string;
  htmlError?: { message: string };
};

type Entry = { id: string; rendered: { html: string } };

/**
 * The example's loader. Its client is that of this repository, since no package
 * is installed here.
 */
async function importLoader() {
  const source = await Deno.readTextFile(
    `${root}/examples/astro/src/collection_loader.ts`,
  );
  const client =
    new URL("../../packages/client/client.ts", import.meta.url).href;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(
    file,
    source.replace("@repo-collections/client", client),
  );
  const { collectionLoader } = await import(`file://${file}`);
  await Deno.remove(file);
  return collectionLoader;
}

Deno.test("collectionLoader() reuses entries whose HTML is the same", async () => {
  let items: Item[] = [];
  await using service = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ url }) =>
      url.includes("format=raw") ? new Response("png") : Response.json({
        items,
        repository: { commit: "c" },
        pagination: { hasNext: false },
      }),
  );
  const url = `http://127.0.0.1:${service.addr.port}`;
  const collectionLoader = await importLoader();
  const entries = new Map<string, Entry>();
  let set: string[] = [];
  const dir = await Deno.makeTempDir();
  const publicDir = new URL(`file://${dir}/`);
  const store = {
    keys: () => entries.keys(),
    get: (id: string) => entries.get(id),
    delete: (id: string) => entries.delete(id),
    set(entry: Entry) {
      set.push(entry.id);
      entries.set(entry.id, entry);
    },
  };
  /** One build: which entries were set, and which there are. */
  const build = async (address: string, linkTemplate: string) => {
    set = [];
    const parameters = {
      owner: "octo",
      repo: "site",
      collection: "posts",
      linkTemplate,
    };
    await collectionLoader(address, parameters).load({
      store,
      parseData: () => Promise.resolve({}),
      generateDigest: JSON.stringify,
      logger: { warn() {} },
      config: { publicDir, base: "/docs/" },
    });
    return [set.join(), [...entries.keys()].join()];
  };

  const a: Item = { slug: "a", sha: "1", html: "<p>a</p>" };
  const b: Item = { slug: "b", sha: "1", html: "<p>b</p>" };
  items = [a, b];
  assertEquals(await build(url, "/{slug}/"), ["a,b", "a,b"]);
  assertEquals(await build(url, "/{slug}/"), ["", "a,b"]);
  assertEquals(await build(url, "/blog/{slug}/"), ["a,b", "a,b"]);
  assertEquals(await build(`${url}/`, "/blog/{slug}/"), ["a,b", "a,b"]);
  items = [{ slug: "a", sha: "2", htmlError: { message: "takes too long" } }];
  assertEquals(await build(`${url}/`, "/blog/{slug}/"), ["", "a"]);
  // Another file, which is no Markdown.
  items = [{ slug: "a", sha: "3" }];
  assertEquals(await build(`${url}/`, "/blog/{slug}/"), ["", ""]);

  // Pictures are copied again, since the folder of a build may be new.
  const address = `${url}/api/get-item-content?owner=o&amp;path=a.png`;
  const html = `<img src="${address}&amp;format=raw">`;
  items = [{ slug: "a", sha: "4", html }];
  for (const [setNow] of [["a"], [""]]) {
    assertEquals(await build(url, "/{slug}/"), [setNow, "a"]);
    const [file] = await Array.fromAsync(Deno.readDir(`${dir}/pictures`));
    assertEquals(
      entries.get("a")!.rendered.html,
      `<img src="/docs/pictures/${file?.name}">`,
    );
    await Deno.remove(`${dir}/pictures`, { recursive: true });
  }
  await Deno.remove(dir, { recursive: true });
});
