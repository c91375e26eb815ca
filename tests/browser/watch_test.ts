// `watch()` of the client in Chromium. The page's clock and the service's are
// advanced together, so nothing waits.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { deliver, ENV, push } from "../http/deliveries.ts";
import { browserTest, type ServedSite } from "./browser.ts";

const FILES = { "posts/a.md": "1", "posts/b.md": "2" };

/**
 * A page of a server in front of the service, which may be down and may set
 * `max-age`.
 */
async function startPage(page: Page, { service }: ServedSite) {
  const front = {
    /** The status of each request for changes, or 0 while it is down. */
    polls: [] as number[],
    isDown: false,
    maxAge: null as number | null,
    page,
    /** What the callback got. */
    seen: () => page.evaluate<string[]>("seen"),
    /**
     * Lets seconds pass, for the page and the service. Returns how many passed
     * until `isOver`.
     */
    async pass(seconds: number, isOver = () => Promise.resolve(false)) {
      for (let second = 1; second <= seconds; second++) {
        service.clock.advance(1_000);
        await page.clock.runFor(1_000);
        await idle();
        if (await isOver()) return second;
      }
      return seconds;
    },
    async show(state: "visible" | "hidden") {
      await page.evaluate(`state = "${state}";
        document.dispatchEvent(new Event("visibilitychange"))`);
      await idle();
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  const idle = async () => {
    while (await page.evaluate("pending") !== 0);
    await page.evaluate("Promise.resolve()");
  };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      if (pathname === "/") {
        const headers = { "content-type": "text/html" };
        return new Response("<!doctype html><title>A page</title>", {
          headers,
        });
      }
      if (front.isDown) return new Response("down", { status: 502 });
      const { headers } = request;
      const response = await service.send(pathname + search, { headers });
      if (pathname.endsWith("changes")) front.polls.push(response.status);
      if (front.maxAge === null) return response;
      const changed = new Response(response.body, response);
      changed.headers.set("cache-control", `max-age=${front.maxAge}`);
      changed.headers.delete("age");
      return changed;
    },
  );
  await page.clock.install();
  await page.goto(`http://127.0.0.1:${server.addr.port}/`);
  await page.evaluate(`(async () => {
    Object.assign(globalThis, { seen: [], pending: 0, state: "visible" });
    Object.defineProperty(document, "visibilityState", { get: () => state });
    const { CollectionsClient } = await import("/client.js");
    const client = new CollectionsClient(location.origin, {
      async fetch(...of) {
        pending++;
        try {
          const response = await fetch(...of);
          const body = response.status === 304 ? null : await response.blob();
          return new Response(body, response);
        } finally {
          pending--;
        }
      },
    });
    const posts = { owner: "octo", repo: "site", collection: "posts" };
    client.watch(posts, ({ isWhole, added, changed, removed, renamed }) => {
      const paths = [added, changed, removed, renamed].flat().map(({ path }) => path);
      seen.push((isWhole ? "all " : "") + paths.join(" "));
    });
  })()`);
  await idle();
  // The first list, and the first poll after it.
  while (front.polls.length === 0) await idle();
  assertEquals(await front.seen(), ["all posts/a.md posts/b.md"]);
  return front;
}

/** A test of a page that has just polled for the first time. */
function watchTest(
  name: string,
  body: (
    front: Awaited<ReturnType<typeof startPage>>,
    site: ServedSite,
  ) => Promise<void>,
  env: Record<string, string> = {},
): void {
  browserTest(name, async (open, site) => {
    await using front = await startPage(await open(), site);
    await body(front, site);
  }, { files: FILES, env, reports: /ERR_INTERNET_DISCONNECTED/ });
}

watchTest("watch() shows a push within 61 s", async (front, site) => {
  for (const wait of [0, 31, 59]) {
    await front.pass(wait);
    const path = `posts/new-${wait}.md`;
    await site.repository.commit({ [path]: `${wait}` });
    const isShown = async () => (await front.seen()).includes(path);
    const seconds = await front.pass(61, isShown);
    assert(await isShown(), `not shown, ${front.polls}`);
    assert(seconds <= 61, `after ${seconds} s`);
  }
  // Every poll was due: the clock has moved less than five minutes.
  assert(front.polls.length <= 6, `${front.polls}`);
});

watchTest("watch() honours max-age with the webhook", async (front, site) => {
  front.maxAge = 1;
  await front.pass(61);
  const polls = front.polls.length;
  await front.pass(10);
  assertEquals(front.polls.length - polls, 10);
  await site.repository.commit({ "posts/a.md": "new" });
  await deliver(site.service, push());
  const isShown = async () => (await front.seen()).includes("posts/a.md");
  assert(await front.pass(2, isShown) <= 2);
  assert(await isShown(), `${front.polls}`);
}, ENV);

watchTest("watch() polls no page that is hidden", async (front, site) => {
  await front.show("hidden");
  await site.repository.commit({ "posts/c.md": "3" });
  await front.pass(300);
  assertEquals(front.polls, [200]);
  await front.show("visible");
  assertEquals((await front.seen()).slice(1), ["posts/c.md"]);
});

watchTest("watch() goes on after an outage", async (front, site) => {
  const context = front.page.context();
  const outages = [
    (isDown: boolean) => context.setOffline(isDown),
    (isDown: boolean) => {
      front.isDown = isDown;
      return Promise.resolve();
    },
  ];
  for (const [index, outage] of outages.entries()) {
    await outage(true);
    const path = `posts/during-${index}.md`;
    await site.repository.commit({ [path]: `${index}` });
    await front.pass(200);
    assert(!(await front.seen()).includes(path));
    await outage(false);
    const isShown = async () => (await front.seen()).includes(path);
    await front.pass(61, isShown);
    assert(await isShown(), `${front.polls}`);
  }
});
