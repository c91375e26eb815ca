import { App } from "fresh";
import { assertEquals, assertRejects } from "@std/assert";
import { join, toFileUrl } from "@std/path";
import { mountRoutes } from "../../lib/http/file_routes.ts";

/** A route that returns its file and the parameters. */
function route(name: string, method = "GET"): string {
  return `export const handler = { ${method}: (ctx) => Response.json(["${name}", ctx.params]) };`;
}

/** Mounts files in an app; gives the routes, and what sends a request. */
async function mount(files: Record<string, string>) {
  const folder = await Deno.makeTempDir({ prefix: "file routes " });
  const app = new App({ mode: "development" });
  try {
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(join(folder, path, ".."), { recursive: true });
      await Deno.writeTextFile(join(folder, path), text);
    }
    const routes = await mountRoutes(app, toFileUrl(folder));
    const handler = app.handler();
    const send = async (path: string) =>
      await (await handler(new Request(`http://localhost${path}`))).json();
    return { routes, send };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("mountRoutes() makes patterns of names, as Fresh does", async () => {
  const rows: [
    file: string,
    pattern: string,
    path: string,
    params: Record<string, string>,
  ][] = [
    ["index.ts", "/", "/", {}],
    ["api/index.ts", "/api", "/api", {}],
    ["api/openapi.json.ts", "/api/openapi.json", "/api/openapi.json", {}],
    ["api/[owner]/[repo].ts", "/api/:owner/:repo", "/api/o/r%20s.md", {
      owner: "o",
      repo: "r s.md",
    }],
    ["b.ts", "/b", "/b", {}],
    ["[a].ts", "/:a", "/x", { a: "x" }],
  ];
  const { routes, send } = await mount(
    Object.fromEntries([
      ["read.me", ""],
      ...rows.map(([file]) => [file, route(file)]),
    ]),
  );

  assertEquals(
    routes.map(({ pattern }) => pattern).sort(),
    rows.map(([, pattern]) => pattern).sort(),
  );
  for (const [file, pattern, path, params] of rows) {
    assertEquals(await send(path), [file, params]);
    const found = routes.filter((route) => route.path.test(path)).map((
      { pattern },
    ) => pattern);
    assertEquals([path, found.includes(pattern)], [path, true]);
  }
});

Deno.test("mountRoutes() finds the methods in the handlers", async () => {
  const { routes } = await mount({
    "a.ts": route("a"),
    "b.ts": route("b", "POST"),
  });
  assertEquals(routes.map(({ methods }) => methods.join(" ")), [
    "GET HEAD OPTIONS",
    "POST OPTIONS",
  ]);
});

Deno.test("mountRoutes() rejects what it does not mount, by name", async () => {
  const handlers = [
    "",
    "export const handler = null;",
    "export default () => {};",
  ];
  for (const text of handlers) {
    await assertRejects(
      () => mount({ "a.ts": text }),
      Error,
      'Cannot mount "a.ts": it has no',
    );
  }
  for (
    const name of [
      "(x)/a.ts",
      "[[a]].ts",
      "[...a].ts",
      "_lib/a.ts",
      "a/_middleware.ts",
    ]
  ) {
    const mounting = mount({ [name]: route("a") });
    await assertRejects(
      () => mounting,
      Error,
      `Cannot mount "${name}": a name of this kind`,
    );
  }
});
