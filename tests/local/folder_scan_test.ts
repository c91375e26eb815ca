import { assert, assertEquals } from "@std/assert";
import { blobId } from "../../lib/source/git_object_id.ts";
import { readScannedFile, scanFile, type ScannedFile } from "../../lib/source/local/folder_scan.ts";

const idOf = (text: string) => blobId(new TextEncoder().encode(text));
const longAfter = () => Date.now() + 60_000;
const wrongId = "f".repeat(40);

async function withFile(text: string, body: (path: string) => Promise<void>): Promise<void> {
  const path = await Deno.makeTempFile({ prefix: "scanned_file_" });
  await Deno.writeTextFile(path, text);
  await body(path);
  await Deno.remove(path);
}

async function scan(
  path: string,
  options: { previous?: ScannedFile; now?: () => number } = {},
): Promise<ScannedFile> {
  const file = await scanFile(path, { name: "a", previous: null, now: longAfter, ...options });
  assert(file !== null);
  return file;
}

Deno.test("scanFile() reuses an unchanged entry without reading the file", () =>
  withFile("one\n", async (path) => {
    const first = await scan(path);
    assertEquals([first.id, first.size, first.isSettled], [idOf("one\n"), 4, true]);
    const previous = { ...first, id: wrongId };
    assert(await scan(path, { previous }) === previous);
  }));

Deno.test("scanFile() reads again what was read within two seconds of a change", () =>
  withFile("one\n", async (path) => {
    const { ctime, mtime } = await Deno.lstat(path);
    const changedAtMs = (ctime ?? mtime)!.getTime();
    const racy = await scan(path, { now: () => changedAtMs + 1999 });
    assertEquals(racy.isSettled, false);
    const again = await scan(path, { previous: { ...racy, id: wrongId } });
    assertEquals([again.id, again.isSettled], [idOf("one\n"), true]);
    assert((await scan(path, { now: () => changedAtMs + 2000 })).isSettled);
  }));

Deno.test("scanFile() reads again when the size, a time or the mode is another", () =>
  withFile("one\n", async (path) => {
    const first = await scan(path);
    await Deno.writeTextFile(path, "longer\n");
    assertEquals((await scan(path, { previous: first })).id, idOf("longer\n"));

    const settled = await scan(path);
    await Deno.utime(path, 1, 1);
    const previous = { ...settled, id: wrongId };
    assertEquals((await scan(path, { previous })).id, idOf("longer\n"));
    await Deno.chmod(path, 0o755);
    assertEquals((await scan(path, { previous: await scan(path) })).mode, "100755");
  }));

Deno.test("scanFile() hashes a large file by parts", () =>
  withFile("ab".repeat(700_000), async (path) => {
    const file = await scan(path);
    assertEquals([file.id, file.size], [idOf("ab".repeat(700_000)), 1_400_000]);
  }));

Deno.test("scanFile() is null for a deleted file and for a folder", async () => {
  const dir = await Deno.makeTempDir();
  const options = { name: "a", previous: null, now: longAfter };
  assertEquals(await scanFile(dir, options), null);
  await Deno.remove(dir);
  assertEquals(await scanFile(dir, options), null);
});

Deno.test("readScannedFile() gives the bytes, or null and doubt where they are others", () =>
  withFile("one\n", async (path) => {
    const file = await scan(path);
    assertEquals(await readScannedFile(path, file), new TextEncoder().encode("one\n"));
    await Deno.writeTextFile(path, "two\n");
    assertEquals(await readScannedFile(path, file), null);
    assertEquals(file.isSettled, false);
  }));

Deno.test("readScannedFile() does not follow a link that took the file's place", () =>
  withFile("x".repeat(200), async (path) => {
    const file = await scan(path);
    const target = `${path}_${"x".repeat(199 - path.length)}`;
    await Deno.rename(path, target);
    await Deno.symlink(target, path);
    assertEquals((await Deno.lstat(path)).size, file.size);
    assertEquals(await readScannedFile(path, file), null);
    await Deno.remove(target);
  }));
