import * as fresh from "fresh";
import { assertEquals, assertRejects } from "@std/assert";
import { fromFileUrl, join, toFileUrl } from "@std/path";
import { mountRoutes } from "../../lib/http/file_routes.ts";

/** The stand-in has no static files. */
const isPublished = "staticFiles" in fresh;

interface State {
  trail: string[];
}

/** A route that returns its file, the middlewares passed and the parameters. */
function route(name: string): string {
  return `export const handler = {
    GET: (ctx) => Response.json(
      { name: "${name}", trail: ctx.state.trail ?? [], params: ctx.params },
      { headers: { "x-name": "${name}" } },
    ),
  };`;
}

/** A middleware that writes its name on the way in. */
function mark(name: string): string {
  return `(ctx) => {
    ctx.state.trail = [...(ctx.state.trail ?? []), "${name}"];
    return ctx.next();
  }`;
}

async function withRoutes(
  files: Record<string, string>,
  test: (routesUrl: URL) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "file routes " });
  try {
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(join(folder, path, ".."), { recursive: true });
      await Deno.writeTextFile(join(folder, path), text);
    }
    await test(toFileUrl(folder));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function withApp(
  files: Record<string, string>,
  test: (request: (path: string, method?: string) => Promise<Response>) => Promise<void>,
): Promise<void> {
  await withRoutes(files, async (routesUrl) => {
    const app = new fresh.App<State>({ mode: "development" });
    await mountRoutes(app, routesUrl);
    const handler = app.handler();
    await test((path, method = "GET") =>
      handler(new Request(`http://localhost${path}`, { method }))
    );
  });
}

function patternsOf(names: string[]): Promise<string[]> {
  let patterns: string[] = [];
  const files = Object.fromEntries(names.map((name) => [name, route(name)]));
  return withRoutes(files, async (routesUrl) => {
    const routes = await mountRoutes(new fresh.App<State>({ mode: "development" }), routesUrl);
    patterns = routes.map(({ pattern }) => pattern);
  }).then(() => patterns);
}

Deno.test("mountRoutes() makes patterns of names, as Fresh does", async () => {
  assertEquals(await patternsOf(["index.ts"]), ["/"]);
  assertEquals(await patternsOf(["api/index.ts"]), ["/api"]);
  assertEquals(await patternsOf(["api/openapi.json.ts"]), ["/api/openapi.json"]);
  assertEquals(await patternsOf(["api/[owner]/[repo].ts"]), ["/api/:owner/:repo"]);
  assertEquals(await patternsOf(["v[major].js", "read.me"]), ["/v:major"]);
});

Deno.test("mountRoutes() tries plain names before parameters", async () => {
  const names = ["[a].ts", "b.ts", "[a]/c.ts", "[a]/[d].ts"];

  assertEquals(await patternsOf(names), ["/b", "/:a", "/:a/c", "/:a/:d"]);
  await withApp(
    Object.fromEntries(names.map((name) => [name, route(name)])),
    async (request) => {
      const at = async (path: string) => await (await request(path)).json();
      assertEquals((await at("/b")).name, "b.ts");
      assertEquals((await at("/x")).name, "[a].ts");
      assertEquals((await at("/x/c")).name, "[a]/c.ts");
      const { name, params } = await at("/x/y%20z.md");
      assertEquals([name, params], ["[a]/[d].ts", { a: "x", d: "y z.md" }]);
    },
  );
});

Deno.test("mountRoutes() answers at the routeOverride of a file's config", async () => {
  const files = {
    "api/_middleware.ts": `export default ${mark("api")};`,
    "api/a.ts": `${route("a")} export const config = { routeOverride: "/elsewhere/:id" };`,
  };
  await withApp(files, async (request) => {
    const { params, trail } = await (await request("/elsewhere/1")).json();

    assertEquals([params, trail], [{ id: "1" }, ["api"]]);
    const { status, body } = await request("/api/a");
    assertEquals(status, 404);
    await body?.cancel();
  });
});

Deno.test("mountRoutes() runs the middlewares of a file's folders, from the top down", async () => {
  const files = {
    "_middleware.ts": `export const handler = ${mark("root")};`,
    "api/_middleware.ts": `export default [${mark("api 1")}, ${mark("api 2")}];`,
    "api/[id]/_middleware.ts": `export const handlers = ${mark("id")};`,
    "api/index.ts": route("index"),
    "api/[id]/sub.ts": route("sub"),
    "api.v2.ts": route("beside"),
  };
  await withApp(files, async (request) => {
    const trailAt = async (path: string) => (await (await request(path)).json()).trail;

    assertEquals(await trailAt("/api"), ["root", "api 1", "api 2"]);
    assertEquals(await trailAt("/api/1/sub"), ["root", "api 1", "api 2", "id"]);
    assertEquals(await trailAt("/api.v2"), ["root"]);
  });
});

Deno.test("mountRoutes() does not run a folder's middleware for the file of the same name", async () => {
  const files = {
    "a/_middleware.ts": `export const handler = ${mark("folder")};`,
    "a/b.ts": route("b"),
    "a.ts": route("a"),
  };
  await withApp(files, async (request) => {
    assertEquals((await (await request("/a")).json()).trail, []);
    assertEquals((await (await request("/a/b")).json()).trail, ["folder"]);
  });
});

Deno.test("mountRoutes() shows the root's middleware unknown paths and methods", async () => {
  await withRoutes({
    "_middleware.ts": `export const handler = async (ctx) => {
      try {
        return await ctx.next();
      } catch (error) {
        return new Response("caught", { status: error.status });
      }
    };`,
    "a.ts": route("a"),
  }, async (routesUrl) => {
    const app = new fresh.App<State>({ mode: "development" });
    await mountRoutes(app, routesUrl);
    const handler = app.handler();

    const unknown = await handler(new Request("http://localhost/unknown"));
    const posted = await handler(new Request("http://localhost/a", { method: "POST" }));

    assertEquals([unknown.status, await unknown.text()], [404, "caught"]);
    assertEquals([posted.status, await posted.text()], [405, "caught"]);
  });
});

Deno.test("mountRoutes() lets a GET handler answer HEAD, and no other method", async () => {
  await withApp({ "a.ts": route("a") }, async (request) => {
    const head = await request("/a", "HEAD");
    const options = await request("/a", "OPTIONS");

    assertEquals([head.status, head.headers.get("x-name"), await head.text()], [200, "a", ""]);
    assertEquals([options.status, options.headers.get("allow")?.includes("GET")], [204, true]);
    const put = await request("/a", "PUT");
    assertEquals(put.status, 405);
    await put.body?.cancel();
  });
});

Deno.test("mountRoutes() takes one handler for every method, under either name", async () => {
  const files = {
    "a.ts": `export const handlers = (ctx) => new Response(ctx.req.method);`,
    "b.ts": `export const handlers = { POST: () => new Response("posted") };`,
  };
  await withApp(files, async (request) => {
    assertEquals(await (await request("/a", "DELETE")).text(), "DELETE");
    assertEquals(await (await request("/b", "POST")).text(), "posted");
  });
});

Deno.test("mountRoutes() rejects what it does not mount, by name", async () => {
  const mount = (files: Record<string, string>, message: string) =>
    withRoutes(files, async (routesUrl) => {
      const app = new fresh.App<State>({ mode: "development" });
      await assertRejects(() => mountRoutes(app, routesUrl), Error, message);
    });

  await mount(
    { "api/a.ts": "export const GET = 1;" },
    'Cannot mount "api/a.ts": it exports no handler',
  );
  await mount(
    { "a.ts": "export const handler = null;" },
    'Cannot mount "a.ts": it exports no handler',
  );
  await mount({ "_middleware.ts": "" }, 'Cannot mount "_middleware.ts": it exports no middleware');
  await mount(
    { "a.ts": route("1"), "a/index.ts": route("2") },
    'Cannot mount "a/index.ts": "a.ts" answers "/a" already',
  );
  const unsupported = ["(x)/a.ts", "(x)/_middleware.ts", "[[a]].ts", "[...a].ts", "_lib/a.ts"]
    .concat(["_app.ts", "_layout.ts", "_error.ts", "_404.ts", "a/_500.ts"]);
  for (const name of unsupported) {
    await mount({ [name]: route("a") }, `Cannot mount "${name}": a name of this kind`);
  }
});

Deno.test("mountRoutes() rejects a missing folder", async () => {
  const app = new fresh.App<State>({ mode: "development" });

  await assertRejects(
    () => mountRoutes(app, new URL("./missing/", import.meta.url)),
    Deno.errors.NotFound,
  );
});

// Fresh's own way from a folder to routes is in its dev and build modules, which the stand-in does not have.
Deno.test({
  name: "mountRoutes() and Fresh's own crawler answer every path of routes/ from the same file",
  ignore: !isPublished,
  async fn() {
    const routesUrl = new URL("../../routes/", import.meta.url);
    const paths = [
      ...["/", "/metrics", "/reference", "/client.js", "/client.d.ts", "/nowhere", "/api", "/api/"],
      ...["/api/health", "/api/openapi.json", "/api/list-collection-items", "/API/health"],
      ...["/api/get-item-content", "/problems/a", "/problems", "/problems/a/b", "/vendor/x.js"],
      ...["/playground/app.js", "/playground/", "/_middleware", "/api/health/", "/index"],
    ];
    const mounted = reporting();
    const routes = await mountRoutes(mounted, routesUrl);
    const crawled = await crawl(reporting(), fromFileUrl(routesUrl));

    for (const { pattern } of routes) paths.push(pattern.replaceAll(/:\w+/g, "some-value"));
    for (const path of paths) {
      assertEquals(await matched(mounted, path), await matched(crawled, path), path);
    }
    for (const { pattern } of routes) {
      assertEquals(
        await matched(mounted, pattern.replaceAll(/:\w+/g, "some-value")),
        `${pattern} {${
          [...pattern.matchAll(/:(\w+)/g)].map(([, name]) => `"${name}":"some-value"`)
        }}`,
      );
    }
  },
});

/** An app that returns the matched route, ahead of every other middleware and handler. */
function reporting(): fresh.App<State> {
  return new fresh.App<State>({ mode: "development" })
    .use((ctx) => new Response(`${ctx.route} ${JSON.stringify(ctx.params)}`));
}

async function matched(app: fresh.App<State>, path: string): Promise<string> {
  return await (await app.handler()(new Request(`http://localhost${path}`))).text();
}

/** Registers a folder's routes as a build of Fresh would, without the bundler. */
async function crawl(app: fresh.App<State>, routeDir: string): Promise<fresh.App<State>> {
  // Not literal, since the stand-in has no such modules.
  const [internal, internalDev] = ["fresh/internal", "fresh/internal-dev"];
  const { ProdBuildCache, setBuildCache } = await import(internal!);
  const { crawlFsItem, TEST_FILE_PATTERN } = await import(internalDev!);
  const { routes } = await crawlFsItem({
    islandDir: join(routeDir, "../islands"),
    routeDir,
    ignore: [TEST_FILE_PATTERN],
  });
  for (const item of routes) item.mod = await import(toFileUrl(item.filePath).href);
  const snapshot = {
    ...{ version: "1", clientEntry: "", entryAssets: [], fsRoutes: routes },
    ...{ staticFiles: new Map(), islands: new Map() },
  };
  setBuildCache(app, new ProdBuildCache(routeDir, snapshot), "development");
  return (app as fresh.App<State> & { fsRoutes(): fresh.App<State> }).fsRoutes();
}
