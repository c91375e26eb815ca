// CORS_ORIGINS: which pages may read a response, on the fast path and off it.

import { assertEquals } from "@std/assert";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

const env = { CORS_ORIGINS: "https://a.test,https://b.test:81" };
const path = listPath();

interface Init {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const RESPONSES: readonly [name: string, path: string, init: Init][] = [
  ["a new list", path, {}],
  ["a cached list", path, {}],
  ["a cached list's head", path, { method: "HEAD" }],
  ["a 304", path, { headers: { "if-none-match": "*" } }],
  ["a problem", "/unknown", {}],
  ["a preflight", path, { method: "OPTIONS" }],
  ["a page", "/", {}],
];

Deno.test("CORS_ORIGINS lets pages of its origins read", async () => {
  await using site = await startSite({ "posts/a.md": "# A\n" }, { env });
  for (const origin of ["https://a.test", "https://b.test:81"]) {
    for (const [name, path, init] of RESPONSES) {
      const headers = new Headers({ ...init.headers, origin });
      const response = await site.service.send(path, { ...init, headers });
      await response.body?.cancel();
      const { headers: sent } = response;
      assertEquals(
        [
          sent.get("access-control-allow-origin"),
          sent.has("access-control-expose-headers"),
          sent.get("vary")?.split(", ").at(-1),
        ],
        [origin, true, "Origin"],
        name,
      );
    }
  }
});

Deno.test("CORS_ORIGINS keeps other pages from reading", async () => {
  await using site = await startSite({ "posts/a.md": "# A\n" }, { env });
  const others = [
    "https://c.test",
    "http://a.test",
    "https://b.test",
    "https://a.test.evil.test",
    "null",
  ];
  for (const origin of [null, ...others]) {
    for (const [name, path, init] of RESPONSES) {
      const headers = new Headers({
        ...init.headers,
        ...origin !== null && { origin },
      });
      const response = await site.service.send(path, { ...init, headers });
      await response.body?.cancel();
      const names = [...response.headers.keys()];
      assertEquals(
        [
          names.filter((name) => name.startsWith("access-control-")),
          response.headers.get("vary")?.split(", ").at(-1),
        ],
        [[], "Origin"],
        name,
      );
    }
  }
});
