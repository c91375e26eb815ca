// Fresh as this service relies on it, beside what tests/http/file_routes_test.ts tests. The same tests run on the stand-in
// and the published package.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { App, HttpError, type Middleware } from "fresh";
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

Deno.test("App.use() after a route does not apply to that route", async () => {
  const app = newApp()
    .use(mark("before"))
    .route("/early", { handler: trail })
    .use(mark("after"))
    .route("/late", { handler: trail });

  assertEquals(JSON.parse((await request(app, "/early")).body), ["before"]);
  assertEquals(JSON.parse((await request(app, "/late")).body), ["before", "after"]);
});

Deno.test("App folds slashes, answers a static path with one at its end, and rejects malformed parameters", async () => {
  const app = newApp()
    .route("/a/b", { handler: ({ url }) => new Response(url.pathname + url.search) })
    .route("/p/:id", { handler: ({ params }) => Response.json(params) });

  assertEquals((await request(app, "/a/b/")).body, "/a/b/");
  assertEquals((await request(app, "//a///b?q=//")).body, "/a/b?q=//");
  assertEquals((await request(app, "/p/1/")).status, 404);
  assertEquals((await request(app, "/p/a%20b")).body, '{"id":"a b"}');
  await assertRejects(() => request(app, "/p/%ff"), URIError);
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
