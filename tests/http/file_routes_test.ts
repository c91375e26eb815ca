import * as fresh from "fresh";
import { assertEquals, assertRejects } from "@std/assert";
import { fromFileUrl, join, toFileUrl } from "@std/path";
import { mountRoutes } from "../../lib/http/file_routes.ts";

const isPublished = "staticFiles" in fresh;

/** A route that returns its file and the parameters. */
function route(name: string, method = "GET"): string {
  return `export const handler = { ${method}: (ctx) => Response.json(["${name}", ctx.params]) };`;
}

/** Mounts files in an app; gives the routes, and what sends a request. */
async function mount(files: Record<string, string>) {
  const folder = await Deno.makeTempDir({ prefix: "file routes " });
  const app = new fresh.App({ mode: "development" });
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

  assertEquals(routes.map(({ methods }) => methods), [
    ["GET", "HEAD", "OPTIONS"],
    ["POST", "OPTIONS"],
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

// Fresh's own way from a folder to routes is in its dev and build modules,
// which the stand-in does not have.
Deno.test({
  name: "mountRoutes() and Fresh's own crawler agree on routes/",
  ignore: !isPublished,
  async fn() {
    const routesUrl = new URL("../../routes/", import.meta.url);
    const mounted = reporting();
    const routes = await mountRoutes(mounted, routesUrl);
    const crawled = await crawl(reporting(), fromFileUrl(routesUrl));
    const known = routes.map(({ pattern }) =>
      pattern.replaceAll(/:\w+/g, "some-value")
    );
    const paths = [
      "/nowhere",
      "/api",
      "/API/health",
      "/api/health/",
      "/problems/a/b",
      "/index",
    ];
    for (const path of [...known, ...paths]) {
      assertEquals(
        await matched(mounted, path),
        await matched(crawled, path),
        path,
      );
    }
    for (const [index, path] of known.entries()) {
      assertEquals(
        (await matched(mounted, path)).split(" ")[0],
        routes[index]!.pattern,
      );
    }
  },
});

/**
 * An app that returns the matched route, ahead of every other middleware and
 * handler.
 */
function reporting(): fresh.App<unknown> {
  return new fresh.App({ mode: "development" })
    .use((ctx) => new Response(`${ctx.route} ${JSON.stringify(ctx.params)}`));
}

async function matched(app: fresh.App<unknown>, path: string): Promise<string> {
  return await (await app.handler()(new Request(`http://localhost${path}`)))
    .text();
}

/**
 * Registers a folder's routes as a build of Fresh would, without the bundler.
 */
async function crawl(
  app: fresh.App<unknown>,
  routeDir: string,
): Promise<fresh.App<unknown>> {
  // Not literal, since the stand-in has no such modules.
  const [internal, internalDev] = ["fresh/internal", "fresh/internal-dev"];
  const { ProdBuildCache, setBuildCache } = await import(internal!);
  const { crawlFsItem, TEST_FILE_PATTERN } = await import(internalDev!);
  const { routes } = await crawlFsItem({
    islandDir: join(routeDir, "../islands"),
    routeDir,
    ignore: [TEST_FILE_PATTERN],
  });
  for (const item of routes) {
    item.mod = await import(toFileUrl(item.filePath).href);
  }
  const snapshot = {
    version: "1",
    clientEntry: "",
    entryAssets: [],
    fsRoutes: routes,
    staticFiles: new Map(),
    islands: new Map(),
  };
  setBuildCache(app, new ProdBuildCache(routeDir, snapshot), "development");
  return (app as fresh.App<unknown> & { fsRoutes(): fresh.App<unknown> })
    .fsRoutes();
}
