import { assertEquals, assertThrows } from "@std/assert";
import { keepDerived } from "../../lib/content/derived.ts";
import { select, type Selection } from "../../lib/content/select.ts";
import { FileListBuilder } from "../../lib/source/file_list.ts";
import { TimeLimitError, unlimited } from "../../lib/thread/compute.ts";

Deno.test("select() parses over 4 MiB of front matter in its last try", () => {
  const repository = "octo/select";
  const builder = new FileListBuilder();
  for (let n = 0; n < 20; n++) {
    const id = String(n).padStart(40, "0");
    builder.add({ path: `${n}.md`, id, size: 300_000 });
    const frontMatter = { n, text: "x".repeat(250_000) };
    keepDerived(repository, id, JSON.stringify({ frontMatter }));
  }
  const files = builder.build().bytes;
  const selectBy = (sort: string, isLast: boolean) =>
    select({
      repository,
      folder: "posts",
      files,
      rule: undefined,
      sort,
      filter: [],
      facets: [],
      maxItemBytes: 1 << 20,
    }, { ...unlimited, isLast }) as Selection;
  assertEquals(selectBy("-frontMatter.n", true).indices.length, 20);
  assertEquals(selectBy("-path", false).indices.length, 20);
  assertThrows(() => selectBy("-frontMatter.n", false), TimeLimitError);
});
