// Pages and the files that they load: fixed names only, strict policies, nothing from elsewhere.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { ERRORS } from "../../lib/errors.ts";
import { VENDOR_FILES } from "../../lib/http/vendor_files.ts";
import { startService } from "../service.ts";

const PAGES = ["/", "/reference", "/problems/branch-not-found"];
const STATIC = new URL("../../static/", import.meta.url);

Deno.test("pages have a policy that lets in nothing inline and nothing from elsewhere", async () => {
  await using service = await startService();
  for (const path of PAGES) {
    const { status, headers } = await service.get(path);
    assertEquals(status, 200, path);
    assertMatch(headers.get("content-type")!, /^text\/html; charset=utf-8$/i);
    const policy = headers.get("content-security-policy")!;
    const directives = policy.split("; ");
    for (const named of ["default-src 'none'", "script-src 'self'"]) {
      assert(directives.includes(named), policy);
    }
    assertMatch(policy, /(^|; )style-src 'self'/);
    assert(!/https?:|\*|unsafe-eval/.test(policy), policy);
    assertEquals(policy.includes("unsafe-inline"), path === "/reference");
    assert(!policy.includes("script-src 'self' 'unsafe"), policy);
  }
});

Deno.test("pages hold nothing inline, and name no other host", async () => {
  await using service = await startService();
  for (const path of PAGES) {
    const html = await (await service.get(path)).text();
    assert(!/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/i.test(html), path);
    assert(!/(src|href)="(https?:)?\/\//i.test(html), path);
  }
});

Deno.test("every file that a page names is there, and so is every module that a module imports", async () => {
  await using service = await startService();
  const seen = new Set<string>();
  const visit = async (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    const response = await service.get(path);
    assertEquals(response.status, 200, path);
    const text = await response.text();
    const isPage = response.headers.get("content-type")!.startsWith("text/html");
    const names = isPage
      ? text.matchAll(/(?:src|href)="([^"?#]+)"/g)
      : path.startsWith("/playground/") && path.endsWith(".js")
      ? text.matchAll(/(?:from|import) ?\(?"(\.[^"]+)"/g)
      : [];
    for (const [, name] of names) await visit(new URL(name!, `http://h${path}`).pathname);
  };
  for (const page of PAGES) await visit(page);
  assert(seen.has("/playground/markdown.js") && seen.has("/vendor/dompurify.js"), [...seen] + "");
});

Deno.test("the playground asks ahead for each of its modules, so that none waits for another", async () => {
  const html = await Deno.readTextFile(new URL("index.html", STATIC));
  const ahead = new Set(
    [...html.matchAll(/(?:modulepreload" href|src)="(?:playground|vendor)\/(\w+\.js)"/g)]
      .map(([, name]) => name),
  );
  const modules = [...Deno.readDirSync(new URL("playground/", STATIC))]
    .map(({ name }) => name)
    .filter((name) => name.endsWith(".js") && name !== "reference.js");
  assertEquals(modules.filter((name) => !ahead.has(name)), []);
});

Deno.test("/vendor/ has the files of its table and nothing else", async () => {
  await using service = await startService();
  for (const [name, { contentType }] of VENDOR_FILES) {
    const response = await service.get(`/vendor/${name}`);
    assertEquals(response.status, 200, name);
    assertEquals(response.headers.get("content-type"), contentType);
    assertEquals(response.headers.get("cache-control"), "public, max-age=3600");
    assert((await response.text()).length > 1000);
  }
  for (
    const name of [
      "",
      "marked",
      "package.json",
      "..%2fdeno.json",
      "marked.js/",
      "marked.js%2f..",
      "__proto__",
    ]
  ) {
    assertEquals((await service.problem(`/vendor/${name}`)).code, "route-not-found", name);
  }
});

Deno.test("/playground/ has files of its folder and nothing else", async () => {
  await using service = await startService();
  for (const name of ["", "none.js", "..%2findex.html", "%2e%2e%2fclient.js", "..%5cclient.js"]) {
    assertEquals((await service.problem(`/playground/${name}`)).code, "route-not-found", name);
  }
});

Deno.test("/playground/ writes nothing of a name that no file system takes", async () => {
  await using service = await startService();
  const { error } = console;
  const written: unknown[][] = [];
  console.error = (...args) => void written.push(args);
  try {
    for (const name of ["%00", "a".repeat(300), `${"a".repeat(300)}.js`, "a%00.js"]) {
      assertEquals((await service.problem(`/playground/${name}`)).code, "route-not-found", name);
    }
  } finally {
    console.error = error;
  }
  assertEquals(written, []);
});

Deno.test("a file that a browser has is not sent again, and HEAD has no body", async () => {
  await using service = await startService();
  const first = await service.get("/playground/page.css");
  const etag = first.headers.get("etag")!;
  await first.body?.cancel();

  const again = await service.get("/playground/page.css", { headers: { "if-none-match": etag } });

  assertEquals([again.status, again.body], [304, null]);
  const head = await service.get("/playground/page.css", { method: "HEAD" });
  assertEquals([head.status, await head.text()], [200, ""]);
});

Deno.test("every problem has a page that names it, and no other code has", async () => {
  await using service = await startService();
  for (const [code, { title, status }] of Object.entries(ERRORS)) {
    const response = await service.get(`/problems/${code}`);
    const html = await response.text();
    assertEquals(response.status, 200, code);
    assert(html.includes(`<h1>${title}</h1>`) && html.includes(`Status ${status}`), code);
    assert(!html.includes("`") && !html.includes("undefined"), code);
  }
  for (const code of ["page-too-large", "toString", "<b>"]) {
    assertEquals((await service.problem(`/problems/${code}`)).code, "route-not-found", code);
  }
});
