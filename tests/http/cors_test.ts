// CORS and what else every response carries. The fixture looks for it on each response of the whole suite; here are the
// requests that a browser of another origin begins with.

import { assertEquals } from "@std/assert";
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

const PATHS = [listPath(), itemPath({ path: "a" }), "/api/health", "/", "/none", "/api/%zz", "//"];

Deno.test("cors answers OPTIONS on every path, known or not", async () => {
  await using service = await startService();

  for (const path of PATHS) {
    const response = await service.get(path, {
      method: "OPTIONS",
      headers: {
        "origin": "https://elsewhere.test",
        "access-control-request-method": "GET",
        "access-control-request-headers": "if-none-match",
      },
    });

    assertEquals([path, response.status], [path, 204]);
    assertEquals(response.headers.get("allow"), "GET, HEAD, OPTIONS");
  }
});

Deno.test("cors is the same for every origin and for none", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const headersFor = async (origin: Record<string, string>) => {
    const { headers } = await site.service.get(listPath(), { headers: origin });
    headers.delete("x-request-id");
    return [...headers];
  };
  await headersFor({});

  const none = await headersFor({});
  assertEquals(await headersFor({ origin: "https://a.test" }), none);
  assertEquals(await headersFor({ origin: "null" }), none);
});

Deno.test("cors is on 200, 304 and 404, and on HEAD", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service } = site;
  for (const method of ["GET", "HEAD"]) {
    const ok = await service.get(listPath(), { method });
    const headers = { "if-none-match": ok.headers.get("etag")! };

    assertEquals(ok.status, 200);
    assertEquals((await service.get(listPath(), { method, headers })).status, 304);
    assertEquals((await service.get("/none", { method })).status, 404);
  }
});

Deno.test("cors answers a method that is not there as not allowed, on every path", async () => {
  await using service = await startService();

  for (const path of PATHS) {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"]) {
      const problem = await service.problem(path, { method });
      assertEquals([path, method, problem.code], [path, method, "method-not-allowed"]);
    }
  }
});
