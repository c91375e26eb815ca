import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { z } from "zod";
import { CollectionsError } from "../../../lib/errors.ts";
import { FileList } from "../../../lib/source/file_list.ts";
import { parseAnswer } from "../../../lib/source/github/host.ts";
import { parseJson } from "../../../lib/source/github/json.ts";
import { readBlobsTask } from "../../../lib/source/github/blob_answer.ts";
import { readTreeTask } from "../../../lib/source/github/trees.ts";
import { unlimited } from "../../../lib/thread/compute.ts";
import { inlineCompute } from "../../thread/inline_compute.ts";

/**
 * Parses a list of so many values, and returns how many of them the schema saw.
 */
function countSeen(values: number, value: string) {
  let seen = 0;
  const one = z.custom(() => {
    seen++;
    return false;
  });
  const text = `{"list":[${Array(values).fill(value).join()}]}`;
  const bytes = new TextEncoder().encode(text);
  assertThrows(
    () => parseAnswer(z.object({ list: z.array(one) }), { bytes }),
    CollectionsError,
  );
  return seen;
}

Deno.test("parseAnswer() refuses long answers before their schema", () => {
  assertEquals(countSeen(2_000, "{}"), 2_000);
  for (const value of ["{}", "0", '"a,b"', "[[]]"]) {
    assertEquals(countSeen(200_000, value), 0);
  }
});

Deno.test("parseAnswer() counts no commas of texts", () => {
  const name = `,[{"\\`.repeat(100_000);
  const bytes = new TextEncoder().encode(JSON.stringify({ name }));
  assertEquals(parseAnswer(z.object({ name: z.string() }), { bytes }), {
    name,
  });
});

Deno.test("parseJson() refuses deep nesting before it is parsed", () => {
  const deep = new TextEncoder().encode("[".repeat(1 << 20));
  const message = 'Cannot read "answer": it is nested too deeply';
  assertThrows(() => parseJson(deep), CollectionsError, message);
});

Deno.test("readTreeTask refuses more values than a heap can hold", async () => {
  const answer = new TextEncoder().encode(`{"tree":[${"0,".repeat(3e6)}0]}`);
  const input = { answer, isRecursive: true };
  await assertRejects(
    () => inlineCompute.run(readTreeTask, input, { client: "test" }),
    CollectionsError,
    "it is too long",
  );
});

Deno.test("answers have as few values as their entries need", async () => {
  const answers = [
    [readTreeTask, { isRecursive: true }, '{"tree":[', "]}"],
    [readBlobsTask, { ids: ["a"] }, '{"data":[', "]}"],
  ] as const;
  for (const [task, more, start, end] of answers) {
    const text = start + Array(2_000).fill("{}").join() + end;
    const answer = new TextEncoder().encode(text);
    await assertRejects(
      () =>
        inlineCompute.run(
          task as typeof readTreeTask,
          { answer, ...more } as never,
          { client: "test" },
        ),
      CollectionsError,
      "it is too long",
    );
  }
});

Deno.test("readTreeTask frees its input when it is not tried again", async () => {
  const read = await readTreeTask.load();
  const freed = [true, false].map((isLast) => {
    const answer = new TextEncoder().encode('{"tree":[]}');
    read({ answer, isRecursive: true }, { ...unlimited, isLast });
    return answer.buffer.detached;
  });
  assertEquals(freed, [true, false]);
});

Deno.test("readTreeTask counts files whose names are not UTF-8", async () => {
  const sha = "1".repeat(40);
  const paths = ["a.md", "k\uFFFDln.md", "\uFFFD/b.md", ".\uFFFD"];
  const tree = paths.map((path) => ({ path, mode: "100644", sha, size: 1 }));
  const read = async (truncated: boolean) => {
    const text = JSON.stringify({ sha, truncated, tree });
    const answer = new TextEncoder().encode(text);
    const input = { answer, isRecursive: true };
    return await inlineCompute.run(readTreeTask, input, { client: "test" });
  };
  const files = new FileList((await read(false))!.bytes);
  assertEquals([files.length, files.pathAt(0), files.omitted], [1, "a.md", 2]);
  assertEquals(await read(true), null);
});
