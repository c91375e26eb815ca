import { assertEquals } from "@std/assert";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

/** Lets `seconds` pass while a tree is read, once. */
function passTimeInReading(site: Awaited<ReturnType<typeof startSite>>, seconds: number): void {
  let passed = false;
  site.gh.intercept = (_request, { kind }) => {
    if (kind === "tree-recursive" && !passed) {
      passed = true;
      site.service.clock.advance(seconds * 1000);
    }
    return null;
  };
}

Deno.test("an answer whose reading outlasts its check is given after another check", async () => {
  await using site = await startSite({ "posts/a.md": "A\n", "pages/b.md": "B\n" });
  await site.service.list({ collection: "posts" });
  site.service.clock.advance(59_000);
  passTimeInReading(site, 3);

  const response = await site.service.get(listPath({ collection: "pages" }));
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("age"), "0");
  assertEquals((await response.json()).items[0].path, "pages/b.md");
});

Deno.test("an answer whose reading outlasts its check shows a commit that came meanwhile", async () => {
  await using site = await startSite({ "posts/a.md": "A\n", "pages/b.md": "B\n" });
  await site.service.list({ collection: "posts" });
  await site.repository.commit({ "pages/c.md": "C\n" });
  site.service.clock.advance(59_000);
  passTimeInReading(site, 3);

  const body = await site.service.list({ collection: "pages" });
  assertEquals(body.items.map(({ name }) => name), ["b.md", "c.md"]);
});

Deno.test("an answer whose reading outlasts its check says so where the source has failed", async () => {
  await using site = await startSite({ "posts/a.md": "A\n", "pages/b.md": "B\n" });
  await site.service.list({ collection: "posts" });
  site.service.clock.advance(59_000);
  passTimeInReading(site, 3);
  site.gh.faultWhen(({ kind, path }) =>
    kind === "commit" && path !== "" ? { kind: "status", status: 500 } : null
  );

  const response = await site.service.get(listPath({ collection: "pages" }));
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("age"), "62");
  assertEquals(
    response.headers.get("cache-status"),
    "collections; hit; ttl=-2; detail=stale-if-error",
  );
  await response.body?.cancel();
});
