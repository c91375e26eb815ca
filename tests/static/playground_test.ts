// The parts of the playground that know no page: what is typed, what the address says, what is told in words.

import { assertEquals } from "@std/assert";
import { filterText, parseFilterText } from "../../static/playground/filter_text.js";
import { meantFields, parseRepository } from "../../static/playground/repository_input.js";
import { snippetsFor } from "../../static/playground/snippets.js";
import {
  FIRST,
  itemParameters,
  listParameters,
  operationUrl,
  readState,
  stateUrl,
} from "../../static/playground/state.js";
import {
  ageWords,
  cacheWords,
  durationWords,
  frontMatterWords,
  kindOf,
  sizeWords,
  timeWords,
  typeWords,
} from "../../static/playground/words.js";

const REPOSITORY = { owner: "withastro", repo: "docs" };

Deno.test("parseRepository() takes a name, and every address that people paste", () => {
  for (
    const text of [
      "withastro/docs",
      "  withastro/docs/ ",
      "https://github.com/withastro/docs",
      "http://github.com/withastro/docs/",
      "github.com/withastro/docs",
      "www.github.com/withastro/docs",
      "https://github.com/withastro/docs.git",
      "git@github.com:withastro/docs.git",
      "ssh://git@github.com/withastro/docs.git",
      "git+https://github.com/withastro/docs.git",
      "https://github.com/withastro/docs?tab=readme-ov-file#readme",
      "https://github.com/withastro/docs/issues/12",
      "https://github.company.example/withastro/docs",
    ]
  ) assertEquals(parseRepository(text), REPOSITORY, text);
});

Deno.test("parseRepository() takes folder and file out of an address, and decodes them", () => {
  const base = "https://github.com/withastro/docs";
  const branch = { ...REPOSITORY, branch: "main" };
  assertEquals(parseRepository(`${base}/tree/main`), branch);
  assertEquals(parseRepository(`${base}/tree/main/a/b%20c`), { ...branch, folder: "a/b c" });
  assertEquals(parseRepository(`${base}/blob/main/a/b.md?plain=1#L3`), {
    ...branch,
    file: "a/b.md",
  });
  assertEquals(parseRepository("withastro/docs/tree/main/a"), { ...branch, folder: "a" });
});

Deno.test("parseRepository() gives null for what names no repository", () => {
  for (
    const text of ["", "docs", "/", "a b/c", "withastro/docs/posts", "https://github.com/withastro"]
  ) assertEquals(parseRepository(text), null, text);
});

Deno.test("meantFields() keeps nothing of another repository where an address is pasted", () => {
  const whole = { collection: "/", branch: "", page: "", sort: "", filter: "" };
  for (
    const text of ["https://github.com/withastro/docs", "git@github.com:withastro/docs.git"]
  ) {
    assertEquals(meantFields(text, "octo/site"), { repository: "withastro/docs", ...whole }, text);
  }
  // The same one, or one that is typed: the other fields may be meant.
  const alone = { repository: "withastro/docs" };
  assertEquals(meantFields("https://github.com/withastro/docs", "WithAstro/Docs"), alone);
  assertEquals(meantFields("withastro/docs", "octo/site"), alone);
  assertEquals(meantFields("nonsense", "octo/site"), null);
});

Deno.test("meantFields() fills the form from the address of a folder or file", () => {
  const base = "https://github.com/withastro/docs";
  const fields = {
    repository: "withastro/docs",
    branch: "next",
    page: "",
    sort: "",
    filter: "",
  };
  assertEquals(meantFields(`${base}/tree/next`, "octo/site"), { ...fields, collection: "/" });
  assertEquals(meantFields(`${base}/tree/next/a/b`, "withastro/docs"), {
    ...fields,
    collection: "a/b",
  });
  assertEquals(meantFields(`${base}/blob/next/a/b.md`, "octo/site"), {
    ...fields,
    collection: "a",
    file: "a/b.md",
  });
});

Deno.test("readState() reads what stateUrl() wrote", () => {
  const state = {
    owner: "o",
    repo: "r",
    collection: "a b/ü'(1)",
    branch: "feature/x",
    page: "2",
    limit: "10",
    includeContent: true,
    includeFrontMatter: true,
    sort: "-frontMatter.date",
    recursive: false,
    filter: "frontMatter.a=1 & name=*.md & name=!x*",
    path: "a/ß.md",
    view: "raw" as const,
  };
  assertEquals(readState(stateUrl(state)), state);
  assertEquals(readState(""), FIRST);
  assertEquals(readState("?utm_source=x"), FIRST);
  assertEquals(stateUrl(FIRST), "?owner=local&repo=blog&collection=posts");
  assertEquals(readState("?owner=o").repo, "");
});

Deno.test("a shared address keeps what the list is sorted and filtered by, as the service reads it", () => {
  const query = "owner=o&repo=r&collection=p&includeFrontMatter=true&sort=-size&recursive=false" +
    "&filter[name]=*.md&filter[frontMatter.tags]=a%20%26%20b&filter[name]=!x";
  const state = readState(`?${query}`);

  const url = operationUrl("list-collection-items", listParameters(state), "http://h/");

  const search = decodeURIComponent(new URL(url).search);
  assertEquals(search, `?${decodeURIComponent(query)}`);
  assertEquals(decodeURIComponent(stateUrl(state)), search);
  assertEquals(readState("?filter[name]=x").filter, "name=x");
  // As they are unless told otherwise.
  assertEquals(listParameters({ ...FIRST, recursive: true }), {
    owner: "local",
    repo: "blog",
    collection: "posts",
  });
});

Deno.test("parseFilterText() reads what filterText() wrote, and a name alone", () => {
  const pairs = [["frontMatter.tags", "R&D = 100%"], ["name", "*.md"], ["a&b=c%", "!x"]];
  assertEquals(parseFilterText(filterText(pairs)), pairs);
  assertEquals(filterText(pairs.slice(1, 2)), "name=*.md");
  assertEquals(parseFilterText(" *.md & frontMatter.draft = !true &"), [
    ["name", "*.md"],
    ["frontMatter.draft", "!true"],
  ]);
  assertEquals(parseFilterText(" "), []);
});

Deno.test("operationUrl() leaves out what is not given, and can stand in quotes", () => {
  const state = { ...FIRST, path: 'it\'s "a" $(x) `b` 100%!.md' };
  const list = operationUrl("list-collection-items", listParameters(state), "http://h/x/?y=1");
  assertEquals(list, "http://h/x/api/list-collection-items?owner=local&repo=blog&collection=posts");
  const item = operationUrl("get-item-content", itemParameters(state, "raw"), "http://h/");
  assertEquals(/['"$`()! ]/.test(item), false);
  assertEquals(new URL(item).searchParams.get("path"), state.path);
  assertEquals(new URL(item).searchParams.get("format"), "raw");
});

Deno.test("snippetsFor() gives numbers and flags as such", () => {
  const parameters = { owner: "o", repo: "7", collection: "p", page: "2", includeContent: "true" };
  const url = operationUrl("list-collection-items", parameters, "http://h/");
  const snippets = snippetsFor({
    operation: "list-collection-items",
    parameters,
    url,
    baseUrl: "http://h/?page=2",
  });
  const text = Object.fromEntries(snippets.map(({ name, text }) => [name, text]));
  assertEquals(Object.keys(text), ["URL", "fetch", "curl", "JavaScript"]);
  assertEquals(text["curl"], `curl -i --compressed "${url}"`);
  assertEquals(text["JavaScript"]!.includes('repo: "7",\n'), true);
  assertEquals(text["JavaScript"]!.includes("page: 2,\n  includeContent: true,\n"), true);
});

Deno.test("snippetsFor() gives filters as the client takes them", () => {
  const parameters = listParameters({
    ...FIRST,
    recursive: false,
    filter: "name=*.md & frontMatter.draft=!true & name=!x",
  });
  const url = operationUrl("list-collection-items", parameters, "http://h/");
  const snippets = snippetsFor({
    operation: "list-collection-items",
    parameters,
    url,
    baseUrl: "http://h/",
  });
  const literal = snippets.at(-1)!.text.match(/listItems\((\{.*?\n\})\)/s)![1]!;
  assertEquals(new Function(`return ${literal}`)(), {
    owner: "local",
    repo: "blog",
    collection: "posts",
    recursive: false,
    filter: { "name": ["*.md", "!x"], "frontMatter.draft": "!true" },
  });
});

Deno.test("sizes and times in words", () => {
  assertEquals([0, 1, 1023, 1024, 1834, 1_048_575, 5 << 20].map(sizeWords), [
    "0 bytes",
    "1 byte",
    "1023 bytes",
    "1.0 KB",
    "1.8 KB",
    "1.0 MB",
    "5.0 MB",
  ]);
  assertEquals([1, 42, 310, 7200].map(durationWords), [
    "1 second",
    "42 seconds",
    "5 minutes",
    "2 hours",
  ]);
  assertEquals([38.4, 1250].map(timeWords), ["38 ms", "1.3 s"]);
});

Deno.test("Age and Cache-Status in words, every form that there is", () => {
  assertEquals(ageWords(null), null);
  assertEquals(ageWords("0"), "Checked with the source just now");
  assertEquals(ageWords("18"), "Checked with the source 18 seconds ago");
  const forms = [
    "collections; hit; ttl=42",
    "collections; fwd=miss; stored",
    "collections; fwd=miss",
    "collections; fwd=stale; stored",
    "collections; fwd=stale; detail=revalidated",
    "collections; hit; ttl=-310; detail=stale-if-error",
  ].map(cacheWords);
  assertEquals(forms[0], "Kept here, good for another 42 seconds");
  assertEquals(new Set(forms).size, 6);
  assertEquals(cacheWords(null), null);
});

Deno.test("kindOf() and typeWords() tell files apart", () => {
  const types = {
    "text/markdown; charset=utf-8": ["markdown", "Markdown"],
    "image/svg+xml": ["image", "SVG"],
    "image/png": ["image", "PNG"],
    "application/json": ["text", "JSON"],
    "text/plain; charset=utf-8": ["text", "Text"],
    "application/octet-stream": ["text", "Binary"],
    "video/mp4": ["video", "MP4"],
    "application/pdf": ["pdf", "PDF"],
  };
  for (const [type, words] of Object.entries(types)) {
    assertEquals([kindOf(type), typeWords(type)], words, type);
  }
});

Deno.test("frontMatterWords() says the title, and what the list is sorted by", () => {
  const frontMatter = { title: "A", date: "2026-05-10", author: { name: "tom" }, tags: ["x"] };
  assertEquals(frontMatterWords(frontMatter, "-frontMatter.date"), ["A", "2026-05-10"]);
  assertEquals(frontMatterWords(frontMatter, "frontMatter.author.name"), ["A", "tom"]);
  for (
    const sort of ["", "size", "frontMatter.title", "frontMatter.tags", "frontMatter.no.toString"]
  ) {
    assertEquals(frontMatterWords(frontMatter, sort), ["A"], sort);
  }
  assertEquals(frontMatterWords(undefined, "frontMatter.title"), []);
});
