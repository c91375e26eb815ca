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

/** The pages that send a request, and whether they may read the response. */
const PAGES: readonly [origin: string | null, mayRead: boolean][] = [
  ["https://a.test", true],
  ["https://b.test:81", true],
  [null, false],
  ["https://c.test", false],
  ["http://a.test", false],
  ["https://b.test", false],
  ["https://a.test.evil.test", false],
  ["null", false],
];

Deno.test("CORS_ORIGINS lets only pages of its origins read", async () => {
  await using site = await startSite({ "posts/a.md": "# A\n" }, { env });
  for (const [origin, mayRead] of PAGES) {
    for (const [name, path, init] of RESPONSES) {
      const headers = new Headers({
        ...init.headers,
        ...origin !== null && { origin },
      });
      const response = await site.service.send(path, { ...init, headers });
      await response.body?.cancel();
      const { headers: sent } = response;
      const hasCors = [...sent.keys()].some((name) =>
        name.startsWith("access-control-")
      );
      assertEquals(
        [
          hasCors,
          sent.get("access-control-allow-origin"),
          sent.get("vary")?.split(", ").at(-1),
        ],
        [mayRead, mayRead ? origin : null, "Origin"],
        `${name} for ${origin}`,
      );
    }
  }
});
