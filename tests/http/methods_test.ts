// Methods and paths without a route, over a real connection where no client
// library would send them.

import { assertEquals } from "@std/assert";
import type { ProblemBody } from "../../lib/api/contract.ts";
import { json, rawRequest } from "../raw_http.ts";
import { itemPath, listPath, startService } from "../service.ts";

const PATHS = [
  listPath(),
  itemPath({ path: "a" }),
  "/api/health",
  "/",
  "/none",
  "/api/%zz",
  "//",
];

Deno.test("OPTIONS is answered, and unknown methods are refused", async () => {
  await using service = await startService();
  const port = service.listen();

  for (const path of PATHS) {
    const preflight = await service.get(path, {
      method: "OPTIONS",
      headers: {
        "origin": "https://elsewhere.test",
        "access-control-request-method": "GET",
      },
    });
    assertEquals([path, preflight.status], [path, 204]);
    assertEquals(preflight.headers.get("allow"), "GET, HEAD, OPTIONS");
    for (
      const method of [
        "POST",
        "PUT",
        "PATCH",
        "DELETE",
        "PROPFIND",
        "TRACE",
        "BREW",
        "get",
      ]
    ) {
      const response = await rawRequest(
        port,
        `${method} ${path} HTTP/1.1`,
        "Host: localhost",
      );

      assertEquals([path, method, response.status], [path, method, 405]);
      assertEquals(response.headers.get("allow"), "GET, HEAD, OPTIONS");
      assertEquals(response.headers.get("access-control-allow-origin"), "*");
      assertEquals(json<ProblemBody>(response).code, "method-not-allowed");
    }
  }
});

Deno.test("createHandler() makes problems of all failures", async () => {
  await using service = await startService({
    change(services) {
      services.responses.fresh = () => {
        throw new Error("canary");
      };
      return services;
    },
  });

  const { status, code } = await service.problem(itemPath({ path: "a.md" }));

  assertEquals([status, code], [500, "internal-error"]);
  assertEquals(service.logLines("internal error").length, 1);
});
