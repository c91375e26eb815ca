// Names from outside that every object inherits: they are names like all
// others, wherever one is looked up.

import { assertEquals } from "@std/assert";
import { contentTypeOf } from "../../lib/content/file_names.ts";
import { ENV as WEBHOOK, push, signed } from "../http/deliveries.ts";
import { itemPath, listPath, type Parameters } from "../service.ts";
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
  const env = { MISSES_PER_MINUTE: "0", ...WEBHOOK };

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

    for (
      const parameter of [
        "sort",
        "fields",
        "facets",
        `filter[${name}]`,
        `filter[a][${name}]`,
      ]
    ) {
      const { code } = await service.problem(listPath({ [parameter]: name }));
      assertEquals([parameter, code], [parameter, "invalid-parameters"]);
    }
  });

  Deno.test(`${name} is no known route, code, asset or event`, async () => {
    await using site = await startSite(files, { env });
    const { service } = site;
    const path = `posts/x.${name}`;
    assertEquals((await service.item({ path })).content, "text");
    assertEquals(
      (await service.item({ collection: "posts", slug: name })).name,
      name,
    );
    const raw = await service.get(itemPath({ path, format: "raw" }));
    assertEquals(raw.headers.get("content-type"), "application/octet-stream");
    await raw.body?.cancel();
    assertEquals(
      (await service.problem(itemPath({ path, format: name }))).status,
      400,
    );
    for (const folder of ["", "api/", "problems/", "assets/1/", "vendor/"]) {
      assertEquals(
        (await service.problem(`/${folder}${name}`)).code,
        "route-not-found",
      );
    }
    const values = [
      "accept",
      "accept-encoding",
      "if-none-match",
      "range",
      "x-forwarded-proto",
    ];
    const headers = Object.fromEntries(values.map((header) => [header, name]));
    for (const url of [listPath(), "/client.js", "/"]) {
      const response = await service.get(url, { headers });
      assertEquals([url, response.status], [url, 200]);
      await response.body?.cancel();
    }
    const body = push();
    const signature = {
      "x-hub-signature-256": signed(body),
      "x-github-event": name,
    };
    const init = { method: "POST", body, headers: signature };
    assertEquals((await service.get("/api/webhooks/github", init)).status, 204);
    assertEquals(
      (await service.send("/api/health", { method: name })).status,
      405,
    );
  });
}
