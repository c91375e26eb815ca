import { assertEquals, assertThrows } from "@std/assert";
import { keepDerived } from "../../lib/content/derived.ts";
import { select, type Selection } from "../../lib/content/select.ts";
import { derive } from "../../lib/content/derive.ts";
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

Deno.test("derive() selects once its files are derived, if that is short", () => {
  const repository = "octo/derive";
  const rows = [
    { chars: 10, isSelected: true },
    // It is long work of its own, even if the files were long work.
    { chars: 250_000, isSelected: false },
  ];
  for (const { chars, isSelected } of rows) {
    const builder = new FileListBuilder();
    const files = Array.from({ length: 20 }, (_, n) => {
      const id = String(100 * chars + n).padStart(40, "0");
      builder.add({ path: `${n + 10}.md`, id, size: 300_000 });
      const text = `---\nn: ${n}\ntext: ${"x".repeat(chars)}\n---\n`;
      return { id, bytes: new TextEncoder().encode(text) };
    });
    const query = {
      ...{ folder: "posts", files: builder.build().bytes, rule: undefined },
      ...{ sort: "-frontMatter.n", filter: [], facets: [] },
      maxItemBytes: 1 << 20,
    };
    const { results, selected } = derive(
      { repository, files, query },
      unlimited,
    );
    assertEquals(results.length, 20);
    const order = selected && [...selected.indices];
    const all = Array.from({ length: 20 }, (_, n) => 19 - n);
    assertEquals(order, isSelected ? all : undefined);
    const few = derive({ repository, files: files.slice(1), query }, unlimited);
    assertEquals(few.selected !== undefined, isSelected);
    const input = { repository: "octo/none", files: files.slice(1), query };
    const rest = derive(input, unlimited);
    assertEquals([rest.results.length, rest.selected], [19, undefined]);
  }
});
