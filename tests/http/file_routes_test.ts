import * as fresh from "fresh";
import { assertEquals, assertRejects } from "@std/assert";
import { fromFileUrl, join, toFileUrl } from "@std/path";
import { mountRoutes } from "../../lib/http/file_routes.ts";

const isPublished = "staticFiles" in fresh;

interface State {
  trail: string[];
}

/** A route that returns its file, the middlewares passed and the parameters. */
function route(name: string): string {
  return `export const handler = { GET: (ctx) => Response.json(
    { name: "${name}", trail: ctx.state.trail ?? [], params: ctx.params }) };`;
}

/** A middleware that writes its name on the way in. */
function mark(name: string): string {
  return `(ctx) => {
    ctx.state.trail = [...(ctx.state.trail ?? []), "${name}"];
    return ctx.next();
  }`;
}

/** Mounts files in an app; gives the patterns, and what sends a request. */
async function mount(files: Record<string, string>) {
  const folder = await Deno.makeTempDir({ prefix: "file routes " });
  const app = new fresh.App<State>({ mode: "development" });
  try {
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(join(folder, path, ".."), { recursive: true });
      await Deno.writeTextFile(join(folder, path), text);
    }
    const patterns = await mountRoutes(app, toFileUrl(folder));
    const handler = app.handler();
    const send = (path: string, method = "GET") =>
      handler(new Request(`http://localhost${path}`, { method }));
    return { patterns, send };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("mountRoutes() makes patterns of names, as Fresh does, and tries plain names before parameters", async () => {
  const names = [
    ...["index.ts", "api/index.ts", "api/openapi.json.ts", "api/[owner]/[repo].ts", "v[major].js"],
    ...["read.me", "[a].ts", "b.ts", "[a]/c.ts", "[a]/[d].ts"],
  ];
  const { patterns, send } = await mount(
    Object.fromEntries(names.map((name) => [name, route(name)])),
  );
  assertEquals(patterns, [
    ...["/", "/api", "/api/openapi.json", "/api/:owner/:repo", "/b", "/v:major"],
    ...["/:a", "/:a/c", "/:a/:d"],
  ]);
  const rows: [path: string, name: string, params: Record<string, string>][] = [
    ["/b", "b.ts", {}],
    ["/x", "[a].ts", { a: "x" }],
    ["/x/c", "[a]/c.ts", { a: "x" }],
    ["/x/y%20z.md", "[a]/[d].ts", { a: "x", d: "y z.md" }],
  ];
  for (const [path, name, params] of rows) {
    assertEquals(await (await send(path)).json(), { name, trail: [], params });
  }
});

Deno.test("mountRoutes() runs the middlewares of a file's folders, from the top down", async () => {
  const files = {
    "_middleware.ts": `export const handler = ${mark("root")};`,
    "api/_middleware.ts": `export default [${mark("api 1")}, ${mark("api 2")}];`,
    "api/[id]/_middleware.ts": `export const handlers = ${mark("id")};`,
    "api/a/b.ts": route("b"),
    "api/a.ts": route("a"),
    "api/a/_middleware.ts": `export const handler = ${mark("folder")};`,
    "api/index.ts": route("index"),
    "api/[id]/sub.ts": route("sub"),
    "api.v2.ts": "export const handler = (ctx) => Response.json(ctx.state);",
  };
  const { send } = await mount(files);
  const trailAt = async (path: string, method = "GET") =>
    (await (await send(path, method)).json()).trail;

  assertEquals(await trailAt("/api"), ["root", "api 1", "api 2"]);
  assertEquals(await trailAt("/api/1/sub"), ["root", "api 1", "api 2", "id"]);
  assertEquals(await trailAt("/api.v2", "DELETE"), ["root"], "one function for every method");
  // A folder's middleware does not run for the file of the same name.
  assertEquals(await trailAt("/api/a"), ["root", "api 1", "api 2"]);
  assertEquals((await trailAt("/api/a/b")).at(-1), "folder");
});

Deno.test("mountRoutes() rejects what it does not mount, by name", async () => {
  const unsupported = [
    ...["(x)/a.ts", "(x)/_middleware.ts", "[[a]].ts", "[...a].ts", "_lib/a.ts"],
    ...["_app.ts", "_layout.ts", "_error.ts", "_404.ts", "a/_500.ts"],
  ];
  const cases: [files: Record<string, string>, message: string][] = [
    [{ "api/a.ts": "" }, '"api/a.ts": it exports no handler'],
    [{ "a.ts": `${route("a")} export const config = {};` }, '"a.ts": "config" is not supported'],
    [{ "a.ts": "export const GET = 1;" }, '"a.ts": "GET" is not supported'],
    [{ "a.ts": "export default () => {};" }, '"a.ts": "default" is not supported'],
    [{ "a.ts": "export const handler = null;" }, '"a.ts": it exports no handler'],
    [{ "_middleware.ts": "" }, '"_middleware.ts": it exports no handler'],
    // The methods of a route, which would fail at each request.
    [{ "_middleware.ts": route("a") }, '"_middleware.ts": it exports no handler'],
    [{ "a.ts": route("1"), "a/index.ts": route("2") }, '"a/index.ts": "a.ts" answers "/a" already'],
    ...unsupported.map((name): typeof cases[0] => [
      { [name]: route("a") },
      `"${name}": a name of this kind`,
    ]),
  ];
  for (const [files, message] of cases) {
    await assertRejects(() => mount(files), Error, `Cannot mount ${message}`);
  }
});

// Fresh's own way from a folder to routes is in its dev and build modules, which the stand-in does not have.
Deno.test({
  name: "mountRoutes() and Fresh's own crawler answer every path of routes/ from the same file",
  ignore: !isPublished,
  async fn() {
    const routesUrl = new URL("../../routes/", import.meta.url);
    const mounted = reporting();
    const patterns = await mountRoutes(mounted, routesUrl);
    const crawled = await crawl(reporting(), fromFileUrl(routesUrl));
    const known = patterns.map((pattern) => pattern.replaceAll(/:\w+/g, "some-value"));
    const paths = [
      ...["/nowhere", "/api", "/api/", "/API/health", "/api/health/", "/problems"],
      ...["/problems/a/b", "/playground/app.js", "/playground/", "/_middleware", "/index"],
    ];
    for (const path of [...known, ...paths]) {
      assertEquals(await matched(mounted, path), await matched(crawled, path), path);
    }
    for (const [index, path] of known.entries()) {
      assertEquals((await matched(mounted, path)).split(" ")[0], patterns[index]);
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
