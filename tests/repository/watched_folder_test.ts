import { assert, assertEquals } from "@std/assert";
import { WatchedFolder } from "../../lib/repository/watched_folder.ts";
import { makeSampleFolder } from "./sample_folder.ts";

Deno.test("look() is shared by callers at the same time", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  const bounds = { maxEntries: 10, maxDepth: 10 };
  const watched = new WatchedFolder(folder.dir, { now: folder.now, ...bounds });
  const [one, two] = await Promise.all([watched.look(), watched.look()]);
  assert(one === two);
  assertEquals((await watched.look()).freshness, "hit");
  folder.advance(1000);
  const [three, four] = await Promise.all([watched.look(), watched.look()]);
  assert(three === four);
  assertEquals(three.freshness, "revalidated");
});

Deno.test("look() keeps what stands, and forgets a look that failed", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  const bounds = { maxEntries: 1, maxDepth: 10 };
  const watched = new WatchedFolder(folder.dir, { now: folder.now, ...bounds });
  const first = await watched.look();
  folder.advance(1000);
  assert((await watched.look()).state === first.state, "nothing is built anew");

  await folder.write("b.md", "B\n");
  folder.advance(1000);
  for (let times = 0; times < 2; times++) {
    const error = await watched.look().catch((error: Error) => error.name);
    assertEquals(error, "FolderTooLargeError");
  }
  await Deno.remove(`${folder.dir}/b.md`);
  assertEquals((await watched.look()).state, first.state);
});
