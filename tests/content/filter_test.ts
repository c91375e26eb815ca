import { assertEquals } from "@std/assert";
import { parseFilters } from "../../lib/content/filter.ts";
import type { PlainObject } from "../../lib/content/plain_value.ts";

const ITEM: { path: string; frontMatter: PlainObject | null } = {
  path: "2026/05/hello.md",
  frontMatter: {
    title: "Hello",
    tags: ["deno", "typescript", 7, true],
    nested: [["a"], { a: "a" }],
    draft: false,
    count: 3,
    price: 1.5,
    date: "2024-03-01",
    nothing: null,
    author: { name: "Ann", since: 2020 },
    list: [],
    empty: "",
  },
};

/** Checks which filters an item passes, by the text after `filter`. */
function checkFilters(
  item: typeof ITEM,
  rows: Readonly<Record<"passes" | "fails", string[]>>,
) {
  for (const expected of ["passes", "fails"] as const) {
    for (const row of rows[expected]) {
      const { byPath, byFrontMatter, errors } = parseFilters(
        new URLSearchParams(`filter${row}`),
      );
      assertEquals([row, errors, byPath.length + byFrontMatter.length], [
        row,
        [],
        1,
      ]);
      const passes = byPath.every((test) => test(item.path)) &&
        byFrontMatter.every((test) => test(item));
      assertEquals([row, passes ? "passes" : "fails"], [row, expected]);
    }
  }
}

/** Filters of front matter: `title=Hello` and `count][gt=1`, say. */
const ofKeys = (rows: string) =>
  rows.split(" ").map((row) =>
    `[frontMatter.${row.replace("=", "]=").replace("]]", "]")}`
  );

Deno.test("a filter compares the text of a value or an element", () => {
  checkFilters(ITEM, {
    passes: ofKeys(
      "title=Hello draft=false count=3 price=1.5 date=2024-03-01 nothing=null author.name=Ann " +
        "author.since=2020 tags=deno tags=7 tags=true tags=!Deno tags=!den tags=!deno,typescript " +
        "title=! missing=!true author=!Ann list=!true",
    ),
    fails: [
      ...ofKeys(
        "title=hello title=Hell title=* draft=0 count=3.0 author=Ann author=[object+Object] " +
          "missing=undefined title.length=5 constructor.name=Object tags=!deno tags=!7 tags=!true " +
          "tags=Deno tags=den nested=a list=true draft=!false empty=!",
      ),
      `[frontMatter.toString]=${
        encodeURIComponent(String(Object.prototype.toString))
      }`,
    ],
  });
  checkFilters({ ...ITEM, frontMatter: null }, {
    passes: ofKeys("draft=!true"),
    fails: ofKeys("draft=true draft][exists=true"),
  });
});

Deno.test("a filter matches name and path as globs", () => {
  checkFilters(ITEM, {
    passes: [
      "[name]=*.md",
      "[path]=2026/**",
      "[path]=**/*.md",
      "[name]=!*.mdx",
    ],
    fails: ["[name]=*.MD", "[path]=*.md", "[path]=2026/*", "[path]=!2026/**"],
  });
  checkFilters({ ...ITEM, path: "2026/[slug].md" }, {
    passes: ["[name]=[slug].md"],
    fails: [],
  });
});

Deno.test("a comparison holds for values of its own kind", () => {
  checkFilters(ITEM, {
    passes: ofKeys(
      "count][gte=3 price][lte=1.50 date][lt=2024-03-01T00:00:01Z " +
        "date][gte=2024-03-01T02:00:00%2B02:00 title][gt=hell draft][lt=true nothing][exists=true " +
        "missing][exists=false author.name][exists=true",
    ),
    fails: ofKeys(
      "count][gt=3 price][lt=1.50 title][gt=3 tags][gte=a nothing][lte=z missing][lte=z " +
        "count][lt=x missing][exists=true",
    ),
  });
});

Deno.test("contains ignores case and diacritics", () => {
  const frontMatter = {
    title: "Grüße aus Köln",
    cities: ["Zürich", "Łódź", 1871],
    korean: "한글",
    japanese: "がく",
    greek: "Οδυσσεύς",
    turkish: "İstanbul",
    nested: { city: "Ulm" },
    draft: false,
    nothing: null,
  };
  checkFilters({ path: "2026/Cafe\u0301 Déjà.md", frontMatter }, {
    passes: [
      ..."[name]=CAFÉ [name]=deja.MD [path]=2026/cafe [path]=/".split(" ")
        .map((row) => row.replace("=", "[contains]=")),
      ...ofKeys(
        "title][contains=koln title][contains=GRÜSSE title][contains=aus+k cities][contains=zurich " +
          "cities][contains=87 korean][contains=한 greek][contains=ΟΔΥΣΣΕΥΣ turkish][contains=istan " +
          "nested.city][contains=ULM draft][contains=als",
      ),
    ],
    fails: [
      ..."[name]=2026 [path]=*.md [name]=!x".split(" ")
        .map((row) => row.replace("=", "[contains]=")),
      ...ofKeys(
        "title][contains=bonn cities][contains=lodz korean][contains=하 japanese][contains=か " +
          "nested][contains=ulm nothing][contains=null missing][contains=undefined title][contains=!x",
      ),
    ],
  });
  checkFilters({ path: "a.md", frontMatter: null }, {
    passes: [],
    fails: ofKeys("title][contains=a"),
  });
});
