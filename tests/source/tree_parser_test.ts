import { assert, assertEquals } from "@std/assert";
import { parseFolder, parseInWorker, type TreeWorker } from "../../lib/source/github/trees.ts";
import { CollectionsError } from "../../lib/errors.ts";
import { TestClock } from "../test_clock.ts";

const clock = new TestClock(0);

/** A recursive answer of so many files, out of order. */
function answer(files: number, more: Record<string, unknown> = {}): Uint8Array<ArrayBuffer> {
  const tree = Array.from({ length: files }, (_, index) => ({
    path: `posts/${index * 7919 % files} ü.md`,
    mode: "100644",
    type: "blob",
    sha: index.toString(16).padStart(40, "0"),
    size: index,
  }));
  return new TextEncoder().encode(JSON.stringify({ tree, truncated: false, ...more }));
}

Deno.test("parseInWorker() gives the list that parseFolder() gives, and takes the bytes", async () => {
  const bytes = answer(20_000);
  const expected = await parseFolder(bytes, false);

  const folder = await parseInWorker({ bytes, withId: false }, clock);

  assertEquals(folder?.files.toBytes(), expected?.files.toBytes());
  assertEquals([folder?.files.length, bytes.length], [20_000, 0]);
  assertEquals(
    await parseInWorker({ bytes: answer(1, { truncated: true }), withId: false }, clock),
    null,
  );
});

Deno.test("parseInWorker() fails as parseFolder() does", async () => {
  for (const bytes of [answer(1, { tree: [{ path: ".." }] }), new TextEncoder().encode("[")]) {
    const messages = [];
    for (
      const parse of [
        () => parseFolder(bytes, false),
        () => parseInWorker({ bytes, withId: false }, clock),
      ]
    ) {
      const error = await parse().then(() => null, (error) => error);
      assert(error instanceof CollectionsError && error.code === "source-failed");
      messages.push(error.message);
    }
    assertEquals(messages[0], messages[1]);
  }
});

Deno.test("parseInWorker() parses here where no worker starts, and fails where one ends", async () => {
  const idle: TreeWorker = { onmessage: null, onerror: null, postMessage() {}, terminate() {} };
  const event = () => new ErrorEvent("error", { message: "gone", cancelable: true });
  const failing = () => {
    const worker = { ...idle };
    queueMicrotask(() => worker.onerror?.call(worker as Worker, event()));
    return worker;
  };
  const throwing = () => {
    throw new Error("There are no workers");
  };
  for (const start of [throwing, failing]) {
    assertEquals(
      (await parseInWorker({ bytes: answer(3), withId: false }, clock, start))?.files.length,
      3,
    );
  }
  const waiting = parseInWorker({ bytes: answer(3), withId: false }, clock, () => idle);
  clock.advance(5_000);
  assertEquals((await waiting)?.files.length, 3);

  const ending = (): TreeWorker => {
    const worker = { ...idle };
    worker.postMessage = () => worker.onerror?.call(worker as Worker, event());
    queueMicrotask(() => worker.onmessage?.call(worker as Worker, new MessageEvent("message")));
    return worker;
  };
  const error = await parseInWorker({ bytes: answer(3), withId: false }, clock, ending).catch((
    error,
  ) => error);
  assert(error instanceof CollectionsError && error.code === "source-failed");
});
