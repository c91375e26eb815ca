import { App } from "fresh";
import { assertEquals, assertRejects } from "@std/assert";
import { join, toFileUrl } from "@std/path";
import { mountRoutes } from "../../lib/http/file_routes.ts";

interface State {
  trail: string[];
}

/** A route that tells its file, the middlewares passed and the parameters. */
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
    const app = new App<State>({ mode: "development" });
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
    const routes = await mountRoutes(new App<State>({ mode: "development" }), routesUrl);
    patterns = routes.map(({ pattern }) => pattern);
  }).then(() => patterns);
}

Deno.test("mountRoutes() makes patterns of names, as Fresh does", async () => {
  assertEquals(await patternsOf(["index.ts"]), ["/"]);
  assertEquals(await patternsOf(["api/index.ts"]), ["/api"]);
  assertEquals(await patternsOf(["api/openapi.json.ts"]), ["/api/openapi.json"]);
  assertEquals(await patternsOf(["api/[owner]/[repo].ts"]), ["/api/:owner/:repo"]);
  assertEquals(await patternsOf(["v[major].ts"]), ["/v:major"]);
  assertEquals(await patternsOf(["files/[...path].ts"]), ["/files/:path*"]);
  assertEquals(await patternsOf(["(site)/about.ts", "(#1)/index.ts"]), ["/", "/about"]);
});

Deno.test("mountRoutes() leaves reserved names, tests and other files alone", async () => {
  const names = [
    "a.ts",
    "_layout.ts",
    "_lib/b.ts",
    "(_parts)/c.ts",
    "a_test.ts",
    "a.test.ts",
    "d.md",
  ];

  assertEquals(await patternsOf(names), ["/a"]);
});

Deno.test("mountRoutes() tries plain names first, then parameters, then the rest of a path", async () => {
  const names = ["[...all].ts", "[a].ts", "b.ts", "[a]/c.ts", "[a]/[...any].ts", "[a]/[d].ts"];

  assertEquals(await patternsOf(names), ["/b", "/:a", "/:a/c", "/:a/:d", "/:a/:any*", "/:all*"]);
  await withApp(
    Object.fromEntries(names.map((name) => [name, route(name)])),
    async (request) => {
      const nameAt = async (path: string) => (await (await request(path)).json()).name;
      assertEquals(await nameAt("/b"), "b.ts");
      assertEquals(await nameAt("/x"), "[a].ts");
      assertEquals(await nameAt("/x/c"), "[a]/c.ts");
      assertEquals(await nameAt("/x/y"), "[a]/[d].ts");
      assertEquals(await nameAt("/x/y/z"), "[a]/[...any].ts");
    },
  );
});

Deno.test("mountRoutes() gives a route its parameters", async () => {
  await withApp({ "[owner]/[...path].ts": route("file") }, async (request) => {
    const { params } = await (await request("/me/a/b%20c.md")).json();

    assertEquals(params, { owner: "me", path: "a/b c.md" });
  });
});

Deno.test("mountRoutes() runs the middlewares of a file's folders, from the top down", async () => {
  const files = {
    "_middleware.ts": `export const handler = ${mark("root")};`,
    "api/_middleware.ts": `export default [${mark("api 1")}, ${mark("api 2")}];`,
    "api/(group)/_middleware.ts": `export const handlers = [${mark("group")}];`,
    "api/[id]/_middleware.ts": `export const handler = ${mark("id")};`,
    "api/index.ts": route("index"),
    "api/(group)/in.ts": route("in"),
    "api/[id]/sub.ts": route("sub"),
    "api.v2.ts": route("beside"),
  };
  await withApp(files, async (request) => {
    const trailAt = async (path: string) => (await (await request(path)).json()).trail;

    assertEquals(await trailAt("/api"), ["root", "api 1", "api 2"]);
    assertEquals(await trailAt("/api/in"), ["root", "api 1", "api 2", "group"]);
    assertEquals(await trailAt("/api/1/sub"), ["root", "api 1", "api 2", "id"]);
    assertEquals(await trailAt("/api.v2"), ["root"]);
  });
});

Deno.test("mountRoutes() keeps a folder's middleware from the file of the same name", async () => {
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
    const app = new App<State>({ mode: "development" });
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
    for (const [path, method, status] of [["/a", "PUT", 405], ["/a/", "GET", 404]] as const) {
      const response = await request(path, method);
      assertEquals(response.status, status);
      await response.body?.cancel();
    }
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

Deno.test("mountRoutes() rejects a file without a handler, by name", async () => {
  const mount = (files: Record<string, string>, message: string) =>
    withRoutes(files, async (routesUrl) => {
      const app = new App<State>({ mode: "development" });
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
    { "(x)/a.ts": route("1"), "a/index.ts": route("2") },
    'Cannot mount "a/index.ts": "(x)/a.ts" answers "/a" already',
  );
  await mount({ "[[a]].ts": route("a") }, 'Cannot mount "[[a]].ts": its name is no route');
});

Deno.test("mountRoutes() rejects a missing folder", async () => {
  const app = new App<State>({ mode: "development" });

  await assertRejects(
    () => mountRoutes(app, new URL("./missing/", import.meta.url)),
    Deno.errors.NotFound,
  );
});
