import { assertEquals } from "@std/assert";
import {
  addressResolver,
  type AddressTargets,
  fillLinkTemplate,
  repositoryPath,
} from "../../lib/markdown/resolve_address.ts";

Deno.test("repositoryPath() starts at the file's folder and stays in the repository", () => {
  const at = (relative: string, file = "src/posts/a.md") => repositoryPath(relative, file);
  assertEquals(at("b.md"), "src/posts/b.md");
  assertEquals(at("./img/b c.png"), "src/posts/img/b c.png");
  assertEquals(at("../b.md"), "src/b.md");
  assertEquals(at("/b.md"), "b.md");
  assertEquals(at("/../../etc/passwd"), "etc/passwd");
  assertEquals(at("../../../../b.md"), "b.md");
  assertEquals(at("x/../..//./y/"), "src/y");
  assertEquals(at("..\\b.md"), "src/posts/..\\b.md");
  assertEquals(at(""), "src/posts/a.md");
  assertEquals(at("b.md", "a.md"), "b.md");
  for (const none of ["/", "../..", "../../..", "a\u0000b", "a\nb", "\u007f"]) {
    assertEquals(at(none), null, none);
  }
});

Deno.test("fillLinkTemplate() encodes the slug's segments and leaves its slashes", () => {
  assertEquals(
    fillLinkTemplate("/blog/{slug}.html", "2026/é ?#$&"),
    "/blog/2026/%C3%A9%20%3F%23%24%26.html",
  );
});

Deno.test("addressResolver() tells images, items and other files apart", () => {
  const targets: AddressTargets = {
    filePath: "posts/a.md",
    slugOf: (path) => /^posts\/(.*)\.md$/.exec(path)?.[1] ?? null,
    linkTemplate: null,
    contentUrl: (path) => `content:${path}`,
    rawUrl: (path) => `raw:${path}`,
    htmlUrl: (path) => `web:${path}`,
  };
  const link = (path: string, changes: Partial<AddressTargets> = {}) =>
    addressResolver({ ...targets, ...changes })({ kind: "link", path, fragment: "#f" });
  assertEquals(link("b.md"), "content:posts/b.md#f");
  assertEquals(link("b.md", { linkTemplate: "/x/{slug}" }), "/x/b#f");
  assertEquals(link(""), "content:posts/a.md#f");
  assertEquals(link("../LICENSE"), "web:LICENSE#f");
  assertEquals(link("../LICENSE", { linkTemplate: "/x/{slug}" }), "web:LICENSE#f");
  assertEquals(link("../LICENSE", { htmlUrl: () => null }), "content:LICENSE#f");
  assertEquals(link("/"), null);
  const image = addressResolver(targets)({ kind: "image", path: "b.md", fragment: "#f" });
  assertEquals(image, "raw:posts/b.md#f");
});
