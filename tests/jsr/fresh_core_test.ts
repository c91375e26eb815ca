// Fresh as this service relies on it, beside what
// tests/http/file_routes_test.ts tests. The same tests run on the stand-in and
// the published package.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { App, HttpError } from "fresh";
import { configFlag } from "../run_task.ts";

const newApp = () => new App<unknown>({ mode: "development" });

async function request(app: App<unknown>, path: string, method = "GET") {
  const response = await app.handler()(
    new Request(`http://localhost${path}`, { method }),
  );
  return { status: response.status, body: await response.text() };
}

Deno.test("App lets the first route answer and folds slashes", async () => {
  const app = newApp()
    .route("/a/b", {
      handler: ({ url }) => new Response(url.pathname + url.search),
    })
    .route("/p/:id", { handler: ({ params }) => Response.json(params) })
    .route("/p/:id", {
      handler: () => new Response("the second of one pattern"),
    })
    .route("/p/:other", {
      handler: () => new Response("the second that matches"),
    });

  assertEquals((await request(app, "/a/b/")).body, "/a/b/");
  assertEquals((await request(app, "//a///b?q=//")).body, "/a/b?q=//");
  assertEquals((await request(app, "/p/1/")).status, 404);
  assertEquals((await request(app, "/p/a%20b")).body, '{"id":"a b"}');
  await assertRejects(() => request(app, "/p/%ff"), URIError);
});

Deno.test("Context.next() throws at once in the last middleware", async () => {
  const answer = ({ status }: HttpError) => new Response(null, { status });
  const last = newApp()
    .use((ctx) => answer(assertThrows(() => ctx.next(), HttpError)))
    .route("/a", { handler: { GET: () => new Response() } });
  const before = newApp()
    .use(async (ctx) =>
      answer(await assertRejects(() => ctx.next(), HttpError))
    )
    .use((ctx) => ctx.next());

  assertEquals((await request(last, "/unknown")).status, 404);
  assertEquals((await request(last, "/a", "POST")).status, 405);
  assertEquals((await request(before, "/unknown")).status, 404);
  assertEquals(await request(newApp(), "/unknown"), {
    status: 404,
    body: "Not Found",
  });
});

Deno.test("App.handler() requires a build on Deno Deploy only", async () => {
  for (const mode of ["production", "development"]) {
    const code =
      `import { App } from "fresh"; new App({ mode: "${mode}" }).handler();`;
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
