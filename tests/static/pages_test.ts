// What the pages say, as text: promises that the service keeps, and one way through the documentation.

import { assertEquals, assertMatch } from "@std/assert";

const page = async (name: string) =>
  (await Deno.readTextFile(new URL(`../../static/${name}.html`, import.meta.url)))
    .replace(/\s+/g, " ");

Deno.test("the playground promises its 60 seconds only for a source that answers", async () => {
  assertMatch(
    await page("index"),
    /no answer is more than 60 seconds behind the repository while GitHub answers\./,
  );
});

Deno.test("the playground and the reference lead to the same places, each marked where one is", async () => {
  const [index, reference] = await Promise.all(["index", "reference"].map(async (name) => {
    const [nav] = (await page(name)).match(/<nav.*?<\/nav>/)!;
    const links = [...nav.matchAll(/<a href="([^"]*)"( aria-current="page")?>([^<]*)<\/a>/g)];
    return links.map(([, href, current, text]) => ({
      href,
      text,
      isCurrent: current !== undefined,
    }));
  }));
  const places = [["./", "Playground"], ["reference", "Reference"], [
    "api/openapi.json",
    "OpenAPI",
  ]];
  const asPlaces = (at: number) =>
    places.map(([href, text], index) => ({ href, text, isCurrent: index === at }));
  assertEquals(index, asPlaces(0));
  assertEquals(reference, asPlaces(1));
});
