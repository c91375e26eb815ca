// What the pages say, as text: promises that the service keeps, and one way through the documentation.

import { assertMatch } from "@std/assert";

const page = async (name: string) =>
  (await Deno.readTextFile(new URL(`../../static/${name}.html`, import.meta.url)))
    .replace(/\s+/g, " ");

Deno.test("the playground promises its 60 seconds only for a source that answers", async () => {
  assertMatch(
    await page("index"),
    /no answer is more than 60 seconds behind the repository while GitHub answers\./,
  );
});
