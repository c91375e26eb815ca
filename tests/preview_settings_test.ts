import { assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { previewSettings } from "../lib/preview_settings.ts";
import { SettingsError } from "../lib/settings.ts";

/** A folder of one checkout of this name, which goes with it. */
async function makeCheckout(name: string) {
  const parent = await Deno.realPath(await Deno.makeTempDir());
  const checkout = join(parent, name);
  await Deno.mkdir(join(checkout, ".git"), { recursive: true });
  const remove = () => Deno.remove(parent, { recursive: true });
  return { parent, checkout, [Symbol.asyncDispose]: remove };
}

for (const name of ["My Blog", "blog-ü", "a,b", "*", "site.git", ".site", "a".repeat(101)]) {
  Deno.test(`previewSettings() refuses a checkout in "${name}", which nobody could ask for`, async () => {
    await using made = await makeCheckout(name);
    await assertRejects(
      () => previewSettings([made.checkout]),
      SettingsError,
      `Cannot preview "${name}": a repository's name has letters, digits, ".", "_" and "-"`,
    );
    // As one of a folder it is in nobody's way.
    assertEquals((await previewSettings([made.parent])).ALLOWED_REPOS, "local/*");
  });
}

Deno.test("previewSettings() of a link to a checkout shows what it leads to", async () => {
  await using made = await makeCheckout("Blog_1.0");
  const link = join(made.parent, "link");
  await Deno.symlink(made.checkout, link);
  for (const dir of [made.checkout, link]) {
    const { LOCAL_REPOS_DIR, ALLOWED_REPOS } = await previewSettings([dir]);
    assertEquals([LOCAL_REPOS_DIR, ALLOWED_REPOS], [made.parent, "local/Blog_1.0"]);
  }
});
