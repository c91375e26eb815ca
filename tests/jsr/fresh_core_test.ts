// Fresh as this service relies on it. The same tests run on the stand-in and the published package.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { App, createDefine, HttpError, type Middleware } from "fresh";
import { configFlag } from "../run_task.ts";

interface State {
  trail: string[];
}

/** Writes its name on the way in. */
function mark(name: string): Middleware<State> {
  return (ctx) => {
    ctx.state.trail = [...ctx.state.trail ?? [], name];
    return ctx.next();
  };
}

const trail: Middleware<State> = (ctx) => Response.json(ctx.state.trail);
const parameters: Middleware<State> = (ctx) => Response.json({ route: ctx.route, ...ctx.params });

function newApp(): App<State> {
  return new App<State>({ mode: "development" });
}

async function request(app: App<State>, path: string, method = "GET") {
  const response = await app.handler()(new Request(`http://localhost${path}`, { method }));
  const { status, headers } = response;
  return { status, headers, body: await response.text() };
}

/** Collects what is written to `console.error` meanwhile. */
async function logged(work: () => Promise<void>): Promise<unknown[]> {
  const original = console.error;
  const values: unknown[] = [];
  console.error = (...more: unknown[]) => values.push(...more);
  try {
    await work();
  } finally {
    console.error = original;
  }
  return values;
}

Deno.test("App.route() answers by method: HEAD as GET without a body, OPTIONS with Allow", async () => {
  const get = () => new Response("got", { headers: { "x-a": "1" } });
  const app = newApp()
    .route("/all", { handler: (ctx) => new Response(ctx.req.method) })
    .route("/each", { handler: { GET: get, PUT: () => new Response("put") } });

  assertEquals((await request(app, "/all", "DELETE")).body, "DELETE");
  assertEquals((await request(app, "/each", "PUT")).body, "put");
  const head = await request(app, "/each", "HEAD");
  assertEquals([head.status, head.headers.get("x-a"), head.body], [200, "1", ""]);
  const options = await request(app, "/each", "OPTIONS");
  assertEquals(options.status, 204);
  assert(options.headers.get("allow")?.includes("GET"));
});

Deno.test("App.use() runs from the root down to the route's own path, in order", async () => {
  const app = newApp()
    .use("/api/items", mark("items"))
    .use("/api", mark("api 1"), mark("api 2"))
    .use("/other", mark("other"))
    .use(mark("root"))
    .route("/api/items", { handler: trail });

  const { body } = await request(app, "/api/items");

  assertEquals(JSON.parse(body), ["root", "api 1", "api 2", "items"]);
});

Deno.test("App.use() after a route does not apply to that route", async () => {
  const app = newApp()
    .use(mark("before"))
    .route("/early", { handler: trail })
    .use(mark("after"))
    .route("/late", { handler: trail });

  assertEquals(JSON.parse((await request(app, "/early")).body), ["before"]);
  assertEquals(JSON.parse((await request(app, "/late")).body), ["before", "after"]);
});

Deno.test("App matches static paths before patterns, and gives decoded parameters", async () => {
  const app = newApp().route("/p/:id", { handler: parameters })
    .route("/p/static", { handler: parameters })
    .route("/file.ts", { handler: parameters, config: { routeOverride: "/other/:id" } });

  const at = async (path: string) => JSON.parse((await request(app, path)).body);
  assertEquals(await at("/p/static"), { route: "/p/static" });
  assertEquals(await at("/p/a%20b"), { route: "/p/:id", id: "a b" });
  assertEquals(await at("/other/1"), { route: "/other/:id", id: "1" });
  assertEquals((await request(app, "/file.ts")).status, 404);
  await assertRejects(() => request(app, "/p/%ff"), URIError);
});

Deno.test("App answers a static path with a slash at its end too, and folds repeated ones", async () => {
  const app = newApp()
    .route("/a/b", { handler: ({ url }) => new Response(url.pathname + url.search) })
    .route("/p/:id", { handler: parameters });

  assertEquals((await request(app, "/a/b/")).body, "/a/b/");
  assertEquals((await request(app, "//a///b?q=//")).body, "/a/b?q=//");
  assertEquals((await request(app, "/p/1/")).status, 404);
});

Deno.test("App lets the first of two routes with one pattern and method answer", async () => {
  const handler = (text: string) => ({ GET: () => new Response(text) });
  const app = newApp();
  for (const path of ["/a", "/:id"]) {
    for (const text of ["first", "second"]) app.route(path, { handler: handler(text) });
  }
  app.route("/a", { handler: { POST: () => new Response("posted") } });

  assertEquals((await request(app, "/a")).body, "first");
  assertEquals((await request(app, "/a", "POST")).body, "posted");
  assertEquals((await request(app, "/x")).body, "first");
});

Deno.test("Context.next() of the last middleware throws at once for an unknown path or method", async () => {
  const app = newApp()
    .use((ctx) => {
      const error = assertThrows(() => ctx.next(), HttpError);
      return new Response(null, { status: error.status });
    })
    .route("/a", { handler: { GET: () => new Response() } });

  assertEquals((await request(app, "/unknown")).status, 404);
  assertEquals((await request(app, "/a", "POST")).status, 405);
});

Deno.test("Context.next() rejects with what a middleware or handler throws", async () => {
  const app = newApp()
    .use(async (ctx) => {
      const error = await assertRejects(() => ctx.next(), HttpError);
      return new Response(null, { status: error.status });
    })
    .use((ctx) => ctx.next())
    .route("/a", { handler: { GET: () => new Response() } });

  assertEquals((await request(app, "/unknown")).status, 404);
});

Deno.test("App lets no handler see a method that Fresh does not support", async () => {
  await logged(async () => {
    const app = newApp().route("/a", { handler: () => new Response("handled") });
    // 500 in Fresh 2.3.3, whose middlewares do not see such a request either.
    const { status, body } = await request(app, "/a", "PROPFIND");
    assert([405, 500, 501].includes(status), `${status}`);
    assert(body !== "handled");
  });
});

Deno.test("App answers an uncaught HttpError with its message, other errors with a logged 500", async () => {
  const cause = new Error("secret");
  const throwing = (error: Error) => ({
    handler: () => {
      throw error;
    },
  });
  const app = newApp()
    .route("/a", throwing(new HttpError(400, "no good")))
    .route("/b", throwing(cause));

  const { status, body } = await request(app, "/a");
  assertEquals([status, body], [400, "no good"]);
  const values = await logged(async () => {
    const { status, body } = await request(app, "/b");
    assertEquals([status, body], [500, "Internal server error"]);
  });
  assertEquals(values, [cause]);
});

Deno.test("createDefine() gives back what it is given", () => {
  const handlers = { GET: () => new Response() };
  assertEquals(createDefine<State>().handlers(handlers), handlers);
});

Deno.test("App.handler() requires Fresh's build on Deno Deploy in production alone", async () => {
  for (const mode of ["production", "development"]) {
    const code = `import { App } from "fresh"; new App({ mode: "${mode}" }).handler();`;
    const { success } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", await configFlag(), code],
      cwd: new URL("../..", import.meta.url),
      env: { DENO_DEPLOYMENT_ID: "test" },
      stdout: "null",
      stderr: "null",
    }).output();
    assertEquals(success, mode === "development", mode);
  }
});
