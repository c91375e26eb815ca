// Names from outside that every object inherits: in a repository they are names
// like all others. The tests of each table look one up in it.

import { assertEquals } from "@std/assert";
import { contentTypeOf } from "../../lib/content/file_names.ts";
import { listPath, type Parameters } from "../service.ts";
import { startSite } from "../site.ts";

const NAMES = [
  "constructor",
  "__proto__",
  "toString",
  "hasOwnProperty",
  "valueOf",
];

for (const name of NAMES) {
  const key = `frontMatter.${name}`;
  const files = {
    "posts/with.md": `---\n${name}: 1\n---\n[x](x.${name})\n`,
    "posts/without.md": "---\nother: 1\n---\n",
    [`posts/x.${name}`]: "text",
    [`posts/${name}`]: "text",
    [`${name}/a.md`]: "",
    ".pages.yml":
      `content:\n  - {name: declared, type: collection, path: posts}\n` +
      `  - {${name}: ${name}, type: ${name}}\n${name}: {${name}: ${name}}\n`,
    "_config.yml": `collections:\n  ${name}: {output: true}\n${name}: 1\n`,
    "admin/config.yml":
      `collections:\n  - {name: d, folder: posts, ${name}: 1, format: ${name}}\n`,
  };
  const env = { MISSES_PER_MINUTE: "0" };

  Deno.test(`${name} is no type, key or parameter that a list knows`, async () => {
    await using site = await startSite(files, { env });
    const { service } = site;
    const names = async (parameters: Parameters) =>
      (await service.list(parameters)).items.map((item) => item.name).join();
    const all = ["with.md", "without.md", name, `x.${name}`].sort().join();
    assertEquals((await names({})).split(",").sort().join(), all);
    assertEquals(contentTypeOf(`x.${name}`), "application/octet-stream");
    for (const collection of ["declared", "d"]) {
      await service.list({ collection });
    }
    assertEquals(await names({ collection: name }), "a.md");
    assertEquals((await names({ [name]: "1" })).split(",").length, 4);

    assertEquals((await names({ sort: key })).split(",")[0], "with.md");
    assertEquals(await names({ [`filter[${key}]`]: "1" }), "with.md");
    assertEquals(
      await names({ [`filter[${key}][exists]`]: "true" }),
      "with.md",
    );
    assertEquals(
      (await names({ [`filter[${key}.${name}]`]: "!1" })).split(",").length,
      4,
    );
    const { items, facets } = await service.list({
      fields: `name,${key}`,
      facets: key,
    });
    const own = items.filter(({ frontMatter }) =>
      frontMatter && Object.hasOwn(frontMatter, name)
    );
    assertEquals(own.map((item) => item.name), ["with.md"]);
    assertEquals(facets, { [key]: [{ value: 1, count: 1 }] });
    await service.list({ includeContent: true, includeHtml: true });

    const parameters = [
      "sort",
      "fields",
      "facets",
      `filter[${name}]`,
      `filter[a][${name}]`,
    ];
    for (const parameter of parameters) {
      const { code } = await service.problem(listPath({ [parameter]: name }));
      assertEquals([parameter, code], [parameter, "invalid-parameters"]);
    }
  });
}
