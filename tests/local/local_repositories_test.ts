import { assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import {
  findLocalDir,
  localRepositoryNames,
  previewSettings,
} from "../../lib/local_repositories.ts";
import { SettingsError } from "../../lib/settings.ts";

/** A folder of one checkout of this name, which goes with it. */
async function makeCheckout(name: string) {
  const parent = await Deno.realPath(await Deno.makeTempDir());
  const checkout = join(parent, name);
  await Deno.mkdir(join(checkout, ".git"), { recursive: true });
  const remove = () => Deno.remove(parent, { recursive: true });
  return { parent, checkout, [Symbol.asyncDispose]: remove };
}

Deno.test("previewSettings() refuses a name that no request could have", async () => {
  for (const name of ["My Blog", "site.git", ".site"]) {
    await using made = await makeCheckout(name);
    await assertRejects(
      () => previewSettings([made.checkout]),
      SettingsError,
      `Cannot preview "${name}": a repository's name has letters, digits, ".", "_" and "-"`,
    );
  }
});

Deno.test("previewSettings() shows what a link to a checkout leads to", async () => {
  await using made = await makeCheckout("Blog_1.0");
  const link = join(made.parent, "link");
  await Deno.symlink(made.checkout, link);
  assertEquals(await previewSettings([link]), {
    HOST: "127.0.0.1",
    KV_PATH: ":memory:",
    MISSES_PER_MINUTE: "0",
    LOCAL_REPOS_DIR: made.parent,
    ALLOWED_REPOS: "local/Blog_1.0",
  });
});

Deno.test("findLocalDir() takes a folder and says what is wrong", async () => {
  await using made = await makeCheckout("blog");
  assertEquals(await findLocalDir(made.parent), made.parent);
  assertEquals(await findLocalDir(null), null);
  assertEquals(await findLocalDir(undefined), "./examples");
  const absent = join(made.parent, "absent");
  const message =
    `Cannot start with "LOCAL_REPOS_DIR": there is no folder "${absent}"`;
  await assertRejects(() => findLocalDir(absent), SettingsError, message);
});

Deno.test({
  name: "findLocalDir() names the flag that is missing",
  permissions: { read: false },
  fn: async () => {
    const message = "reading it is not permitted, add --allow-read=../blogs";
    await assertRejects(() => findLocalDir("../blogs"), SettingsError, message);
    assertEquals(await findLocalDir(null), null);
  },
});

Deno.test("localRepositoryNames() names what may be requested, sorted", async () => {
  await using made = await makeCheckout("Blog");
  const localReposDir = made.parent;
  for (const name of ["docs", ".hidden", "node_modules", "my blog", "x.git"]) {
    await Deno.mkdir(join(localReposDir, name));
  }
  await Deno.writeTextFile(join(localReposDir, "file"), "");
  const rows = [
    { allowedRepos: null, names: ["Blog", "docs"] },
    { allowedRepos: new Set(["local/blog"]), names: ["Blog"] },
  ];
  for (const { allowedRepos, names } of rows) {
    const found = await localRepositoryNames({ localReposDir, allowedRepos });
    assertEquals(found, names);
  }
});

Deno.test("previewSettings() of a folder of posts serves that folder", async () => {
  await using made = await makeCheckout("blog");
  const posts = join(made.parent, "posts");
  await Deno.mkdir(join(posts, "2026"), { recursive: true });
  await Deno.writeTextFile(join(posts, ".DS_Store"), "");
  const allowed = async (dir: string) =>
    (await previewSettings([dir])).ALLOWED_REPOS;
  assertEquals(await allowed(posts), "local/*", "no file is in it");
  await Deno.writeTextFile(join(posts, "a.md"), "# A\n");
  assertEquals(await allowed(posts), "local/posts");
  await Deno.writeTextFile(join(made.parent, "README.md"), "# Mine\n");
  assertEquals(await allowed(made.parent), "local/*", "a checkout is in it");
});
