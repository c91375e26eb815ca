// What requests get while the content thread is busy, out of memory, or ended.

import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../lib/work/clock.ts";
import { ContentThread } from "../../lib/thread/content_thread.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";
import { silentLog } from "../source/open_github.ts";

/** Markdown that takes minutes. */
const SLOW = "*a_ ".repeat(1 << 18);
const FILES = { "posts/1.md": "---\nn: 2\n---\nOne\n", "posts/slow.md": SLOW };
const HIT = listPath({ collection: "posts" });

async function open() {
  const workers: Worker[] = [];
  const { Worker } = globalThis;
  globalThis.Worker = class extends Worker {
    constructor(...given: ConstructorParameters<typeof Worker>) {
      super(...given);
      workers.push(this);
    }
  };
  const compute = new ContentThread({ clock: systemClock, log: silentLog });
  await compute.start();
  const site = await startSite(FILES, { compute });
  await site.service.list({ collection: "posts" });
  return {
    ...site,
    workers,
    async [Symbol.asyncDispose]() {
      globalThis.Worker = Worker;
      await site[Symbol.asyncDispose]();
      compute.close();
    },
  };
}

Deno.test("hits are sent while the content thread is busy", async () => {
  await using site = await open();
  let isPending = true;
  const slow = site.service.item({ path: "posts/slow.md", includeHtml: true })
    .finally(() => isPending = false);
  for (let count = 0; count < 20; count++) {
    const response = await site.service.send(HIT);
    await response.body?.cancel();
    assertEquals([response.status, isPending], [200, true]);
  }
  const { htmlError } = await slow;
  assert(htmlError !== undefined);
});

Deno.test("a request whose thread ends is answered by the next one", async () => {
  await using site = await open();
  const slow = site.service.item({ path: "posts/slow.md", includeHtml: true });
  const waiting = site.service.list({
    collection: "posts",
    sort: "-frontMatter.n",
  });
  site.workers[0]!.onerror!(
    new ErrorEvent("error", { cancelable: true, message: "ended by the test" }),
  );
  assertEquals((await waiting).items.length, 2);
  assert((await slow).htmlError !== undefined);
  assert(site.workers.length > 1);
});

Deno.test("a thread that has ended is replaced inside its worker", async () => {
  await using site = await open();
  const [worker] = site.workers;
  const data = { id: 1, why: "ended by the test" };
  worker!.onmessage!(new MessageEvent("message", { data }));
  const { items } = await site.service.list({
    collection: "posts",
    sort: "-frontMatter.n",
  });
  assertEquals([items.length, site.workers.length], [2, 1]);
});
