// Methods and paths without a route, over a real connection where no client
// library would send them.

import { assert, assertEquals } from "@std/assert";
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

/** The length of the longest text that is parsed as a URL. */
function watchUrls() {
  const { URL } = globalThis;
  const watched = {
    longest: 0,
    [Symbol.dispose]: () => void Object.assign(globalThis, { URL }),
  };
  const see = (url: unknown) => {
    watched.longest = Math.max(watched.longest, `${url}`.length);
  };
  class Watched extends URL {
    constructor(url: string | URL, base?: string | URL) {
      see(url);
      super(url, base);
    }
    static override parse(url: string | URL, base?: string | URL) {
      see(url);
      return URL.parse(url, base);
    }
  }
  globalThis.URL = Watched;
  return watched;
}

Deno.test("a path that is too long for any route is not parsed", async () => {
  await using service = await startService();
  for (
    const path of ["/a".repeat(20_000), "/".repeat(40_000), "/%".repeat(20_000)]
  ) {
    using watched = watchUrls();
    const response = await service.send(path);
    assert(watched.longest < 100, `${watched.longest}`);
    assertEquals(response.status, 404);
    const { code, type }: ProblemBody = await response.json();
    assertEquals(code, "route-not-found");
    assert(type.endsWith("/problems/route-not-found"), type);
  }
  const { status } = await service.get(`/none?${"a".repeat(40_000)}`);
  assertEquals(status, 404);
});
