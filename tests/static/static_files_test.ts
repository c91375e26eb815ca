// Pages and the files that they load: fixed names only, strict policies,
// nothing from elsewhere, each file sent once.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { ERRORS } from "../../lib/errors.ts";
import { startService, type TestService } from "../service.ts";

const PAGES = [
  "/",
  "/reference",
  "/problems/branch-not-found",
  "/guides",
  "/guides/api",
];

// The first test, since a file is read once for a process.
Deno.test("assets are read once for all requests that come first", async () => {
  const { readTextFile } = Deno;
  const read: string[] = [];
  Deno.readTextFile = (path, options) => {
    read.push(String(path));
    return readTextFile(path, options);
  };
  try {
    await using service = await startService();
    await Promise.all(Array.from({ length: 10 }, async () => {
      const response = await service.send("/vendor/dompurify.js");
      await response.body?.cancel();
    }));
  } finally {
    Deno.readTextFile = readTextFile;
  }
  assert(read.length > 10);
  assertEquals(read.length, new Set(read).size);
});

Deno.test("scripts are sent without their comments", async () => {
  await using service = await startService();
  for (const name of ["app", "list", "panel", "requests", "state", "worker"]) {
    const script = await (await service.get(`/assets/x/${name}.ts`)).text();
    const lines = script.split("\n");
    assertEquals(lines.filter((line) => /^ *\/[/*]/.test(line)), [], name);
  }
});

Deno.test("pages have a policy that allows scripts of one folder", async () => {
  await using service = await startService();
  await using named = await startService({
    env: { PUBLIC_URL: "https://h.example/c" },
  });
  const policyOf = async (service: TestService, path: string) =>
    (await service.get(path)).headers.get("content-security-policy")!;
  for (const path of PAGES) {
    const policy = await policyOf(service, path);
    assert(policy.startsWith("default-src 'none'; "), policy);
    assert(!/unsafe|\*|script-src[^;]*'self'/.test(policy), policy);
    const html = await (await service.get(path)).text();
    assert(
      !/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/i.test(html),
      path,
    );
    // Links and code load nothing.
    const loading = html.replaceAll(/<a [^>]*>|<code.*?<\/code>/gs, "");
    assert(!/(src|href)="(https?:)?\/\//i.test(loading), path);
  }
  const own = "http://localhost:8000/assets/";
  const policy = await policyOf(service, "/");
  assert(policy.includes(`; script-src ${own}; worker-src ${own};`), policy);
  assert(!(await policyOf(service, PAGES[2]!)).includes("script-src"));
  assert(
    (await policyOf(service, "http://[::1]:8000/")).includes(
      "; script-src 'self'; worker-src 'self';",
    ),
  );
  const both = `https://h.example/c/assets/ ${own};`;
  assert(
    (await policyOf(named, "/")).includes(
      `; script-src ${both} worker-src ${both}`,
    ),
  );
});

Deno.test("every file that a page or a module names is there", async () => {
  await using service = await startService();
  const seen = new Set<string>();
  const visit = async (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    const response = await service.get(path);
    assertEquals(response.status, 200, path);
    const text = await response.text();
    const isPage =
      response.headers.get("content-type") === "text/html; charset=utf-8";
    const named = isPage
      ? /(?:src|href)="((?!data:)[^"?#]+)"/g
      : /(?:from|import\(|new URL\() ?"(\.[^"]+)"/g;
    for (const [, name] of text.matchAll(named)) {
      const { host, pathname } = new URL(name!, `http://h${path}`);
      if (host === "h") await visit(pathname);
    }
    const languages = text.match(/LANGUAGES\b[^{]*\{(.*?)\}/s)?.[1] ?? "";
    for (const [, language] of languages.matchAll(/: "(\w+)"/g)) {
      await visit(
        new URL(`highlight-${language}.js`, `http://h${path}`).pathname,
      );
    }
  };
  for (const page of PAGES) await visit(page);
  for (
    const name of [
      "preview.ts",
      "worker.ts",
      "dompurify.js",
      "reference.ts",
      "highlight-yaml.js",
    ]
  ) {
    assert([...seen].some((path) => path.endsWith(`/${name}`)), name);
  }
});

Deno.test("the worker may load its modules, and send no request", async () => {
  await using service = await startService();
  const policyOf = async (name: string) =>
    (await service.get(`/assets/x/${name}`)).headers.get(
      "content-security-policy",
    );
  assertEquals(
    await policyOf("worker.ts"),
    "default-src 'none'; script-src 'self'",
  );
  assertEquals(await policyOf("work.ts"), null);
});

Deno.test("an asset of the current version is cached for good", async () => {
  await using service = await startService();
  const html = await (await service.get("/")).text();
  const [, current] = html.match(/"(assets\/[0-9a-f]{12}\/app\.ts)"/)!;
  const gzip = { "accept-encoding": "gzip" };
  const packed = await service.get(`/${current}`, { headers: gzip });
  const other = await service.get("/assets/before/app.ts");
  const headers = ["cache-control", "content-type", "content-encoding"];
  const type = "text/javascript; charset=utf-8";
  assertEquals(headers.map((name) => packed.headers.get(name)), [
    "public, max-age=31536000, immutable",
    type,
    "gzip",
  ]);
  assertEquals(headers.map((name) => other.headers.get(name)), [
    "no-cache",
    type,
    null,
  ]);
  const code = await other.text();
  const unpacked = packed.body!.pipeThrough(new DecompressionStream("gzip"));
  assertEquals(await new Response(unpacked).text(), code);
  assert(!/: State\b|^interface /m.test(code), "the types are gone");

  const known = { ...gzip, "if-none-match": packed.headers.get("etag")! };
  const again = await service.get("/assets/before/app.ts", { headers: known });
  assertEquals([again.status, again.body], [304, null]);
});

Deno.test("only names of the tables are served", async () => {
  await using service = await startService();
  const { error } = console;
  const written: unknown[][] = [];
  console.error = (...args) => void written.push(args);
  const unknown = [
    "/assets/x/",
    "/assets/x/none.js",
    "/assets/x/..%2f..%2fdeno.json",
    "/assets/x/%2e%2e%2fclient.ts",
    "/assets/x/a%00.js",
    "/assets/x/__proto__",
    `/assets/x/${"a".repeat(300)}.js`,
    "/vendor/preact.js",
    "/vendor/package.json",
    "/vendor/dompurify.js%2f..",
    "/problems/page-too-large",
    "/problems/toString",
    "/problems/<b>",
    "/no/such/page",
  ];
  try {
    for (const path of unknown) {
      assertEquals((await service.problem(path)).code, "route-not-found", path);
    }
  } finally {
    console.error = error;
  }
  assertEquals(written, []);
  const purifier = await service.get("/vendor/dompurify.js");
  assertMatch(await purifier.text(), /export \{ ?\w+ as default ?\}/);
});

Deno.test("an unknown address gives people a page", async () => {
  await using service = await startService();
  const headers = { accept: "text/html,*/*;q=0.8" };
  const page = await service.send("/no/such/page", { headers });
  assertEquals(page.status, 404);
  assertEquals(page.headers.get("content-type"), "text/html; charset=utf-8");
  assertEquals(page.headers.get("cache-control"), "no-store");
  const html = await page.text();
  assert(html.includes("<h1>Nothing at this address</h1>"));
  assert(html.includes('href="/assets/current/site.css"'));
  const slash = await service.get("/reference/?x=1");
  assertEquals(slash.status, 308);
  assertEquals(slash.headers.get("location"), "../reference?x=1");
});

Deno.test("every problem has a page that names it", async () => {
  await using service = await startService();
  for (const [code, { title, status }] of Object.entries(ERRORS)) {
    const html = await (await service.get(`/problems/${code}`)).text();
    assert(html.includes(`<h1>${title}</h1>`), code);
    assert(html.includes(`Status ${status}`), code);
    assert(!html.includes("`") && !html.includes("undefined"), code);
  }
});
