import { assertEquals, assertRejects } from "@std/assert";
import { FolderTrail } from "../../lib/source/local/folder_trail.ts";
import { TestClock } from "../test_clock.ts";
import { replaceCall } from "./file_calls.ts";

const NOW_MS = 100_000;

/** What a path names: its inode, and when that changed, in seconds; a link by a string. */
type Named = { readonly ino: number; readonly changedAt: number } | "link";

/** The folders `/root`, `/root/blog` and `/root/blog/posts`, and the trail to the last, recorded. */
async function recorded(changes: Record<string, Named> = {}) {
  const clock = new TestClock(NOW_MS);
  const paths = ["/root", "/root/blog", "/root/blog/posts"];
  const named = new Map<string, Named>(paths.map((path, ino) => [path, { ino, changedAt: 0 }]));
  const put = (changes: Record<string, Named>) => {
    for (const [path, change] of Object.entries(changes)) named.set(path, change);
  };
  put(changes);
  const look = (path: string) => {
    const found = named.get(path);
    if (found === undefined) throw new Deno.errors.NotFound();
    if (found === "link") return { isDirectory: false };
    const ctime = new Date(found.changedAt * 1000);
    return { isDirectory: true, dev: 1, ino: found.ino, ctime, mtime: new Date(0) };
  };
  const replaced = (["lstat", "stat"] as const).map((name) =>
    replaceCall(name, () => (path) => Promise.try(() => look(path)))
  );
  let trail: FolderTrail | null = null;
  for (const path of paths) {
    trail = new FolderTrail(path, trail, clock);
    await trail.record();
  }
  return {
    ...{ clock, put, trail: trail!, remove: (path: string) => named.delete(path) },
    [Symbol.dispose]: () => replaced.forEach((replaced) => replaced[Symbol.dispose]()),
  };
}

const NOW = NOW_MS / 1000;

Deno.test("FolderTrail.held() is true while nothing on the way has changed", async () => {
  using folders = await recorded();
  assertEquals([await folders.trail.held(), folders.trail.isSettled()], [true, true]);
});

Deno.test("FolderTrail.held() is true where only one of two neighbors changed", async () => {
  for (const path of ["/root", "/root/blog", "/root/blog/posts"]) {
    using folders = await recorded();
    const ino = path.split("/").length - 2;
    folders.put({ [path]: { ino, changedAt: NOW } });
    assertEquals([path, await folders.trail.held()], [path, true]);
  }
});

Deno.test("FolderTrail.held() is false after a folder was replaced and put back", async () => {
  using folders = await recorded();
  // The folder above lost a name and got it back; the folder itself was renamed twice.
  folders.put({ "/root/blog": { ino: 1, changedAt: NOW } });
  folders.put({ "/root/blog/posts": { ino: 2, changedAt: NOW } });
  assertEquals(await folders.trail.held(), false);
  await folders.trail.renew();
  assertEquals([await folders.trail.held(), folders.trail.isSettled()], [false, false]);
});

Deno.test("FolderTrail.held() is false for a link, another folder and none", async () => {
  for (const path of ["/root/blog", "/root/blog/posts"]) {
    for (const named of ["link", { ino: 7, changedAt: 0 }, null] as const) {
      using folders = await recorded();
      if (named === null) folders.remove(path);
      else folders.put({ [path]: named });
      assertEquals(await folders.trail.held(), false);
    }
  }
});

Deno.test("FolderTrail.held() is false where a change just before could hide one after", async () => {
  const changed = {
    "/root/blog": { ino: 1, changedAt: NOW },
    "/root/blog/posts": { ino: 2, changedAt: NOW },
  };
  using folders = await recorded(changed);
  assertEquals(await folders.trail.held(), false);
  folders.clock.advance(1_049);
  await folders.trail.renew();
  assertEquals(await folders.trail.held(), false);
  folders.clock.advance(1);
  await folders.trail.renew();
  assertEquals([await folders.trail.held(), folders.trail.isSettled()], [true, true]);
});

Deno.test("FolderTrail takes a change time ahead of its clock for settled", async () => {
  const changedAt = NOW + 3_600;
  const changed = {
    "/root/blog": { ino: 1, changedAt },
    "/root/blog/posts": { ino: 2, changedAt },
  };
  using folders = await recorded(changed);
  assertEquals(await folders.trail.held(), true);
});

Deno.test("FolderTrail.record() refuses a link", async () => {
  const refused = () => recorded({ "/root/blog": "link" });
  await assertRejects(refused, Deno.errors.NotFound, "/root/blog");
});
