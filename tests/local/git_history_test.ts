// The history of local checkouts, by git, and what a hostile checkout may not
// do.

import { assert, assertEquals } from "@std/assert";
import { GitHistory } from "../../lib/source/local/git_history.ts";
import { backgroundContext } from "../../lib/source/source.ts";
import { generateHistory } from "../github/generated_history.ts";
import { gitEnvironment, GitRepository } from "../github/git_repository.ts";
import { itemPath, listPath, startService } from "../service.ts";
import { TestClock } from "../test_clock.ts";
import { makeSampleFolder } from "./sample_folder.ts";

const LOCAL = { owner: "local", includeHistory: true };

/** A folder of repositories with the checkout `site`, and a service. */
async function startCheckout(files: Record<string, string> = {}) {
  await using parts = new AsyncDisposableStack();
  const root = await Deno.realPath(await Deno.makeTempDir());
  parts.defer(() => Deno.remove(root, { recursive: true }));
  const folder = `${root}/repos/site`;
  await Deno.mkdir(folder, { recursive: true });
  const repository = new GitRepository(folder);
  const write = async (path: string, text: string) => {
    const parent = `${folder}/${path}`.replace(/\/[^/]*$/, "");
    await Deno.mkdir(parent, { recursive: true });
    await Deno.writeTextFile(`${folder}/${path}`, text);
  };
  const commit = async (message = "Change", ...options: string[]) => {
    await repository.git("add", "--all");
    await repository.git("commit", "--quiet", "-m", message, ...options);
  };
  await repository.git("init", "--quiet", "--initial-branch=main");
  for (const [path, text] of Object.entries(files)) await write(path, text);
  if (Object.keys(files).length > 0) await commit("First");
  const service = parts.use(
    await startService({ env: { LOCAL_REPOS_DIR: `${root}/repos` } }),
  );
  const opened = parts.move();
  return {
    root,
    folder,
    repository,
    service,
    write,
    commit,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const POSTS = { "posts/a.md": "a", "posts/b.md": "b" };

Deno.test("local history is that of git log -1, with created", async () => {
  await using site = await startCheckout();
  const { repository, service } = site;
  await using generated = new GitRepository(null);
  await generated.commit({ "readme.md": "" });
  await generateHistory(generated, { files: 40, commits: 60, seed: 4 });
  await repository.git("pull", "--quiet", generated.dir, "main");
  const { items } = await service.list({ ...LOCAL, limit: 100 });
  assertEquals(items.length, 40);
  for (const { path, lastChanged } of items) {
    const format = "--format=%H%n%ct%n%an";
    const last = await repository.git("log", "-1", format, "--", path);
    const { commit, date, author } = lastChanged!;
    const shown = [commit, Date.parse(date) / 1000, author.name];
    assertEquals(shown.join("\n"), last, path);
  }
  const { path } = items[7]!;
  const { created } = await service.item({ ...LOCAL, path });
  const ids = await repository.git("log", "--format=%H", "--", path);
  assertEquals(created?.commit, ids.split("\n").at(-1));

  const sorted = await service.list({
    ...LOCAL,
    sort: "-lastChanged.date",
    limit: 100,
  });
  const dates = sorted.items.map(({ lastChanged }) => lastChanged!.date);
  assertEquals(dates, dates.toSorted().reverse());
});

Deno.test("local history shows a commit that leaves the files", async () => {
  await using site = await startCheckout(POSTS);
  const { service, write, commit } = site;
  const messages = async () => {
    service.clock.advance(60_000);
    const { items } = await service.list(LOCAL);
    return items.map(({ lastChanged }) => lastChanged?.message);
  };
  await write("posts/a.md", "edited");
  await write("posts/c.md", "new");
  assertEquals(await messages(), ["First", "First", undefined]);
  await commit("Second\n\nMore");
  assertEquals(await messages(), ["Second", "First", "Second"]);
});

Deno.test("local history takes paths literally, and no address", async () => {
  await using site = await startCheckout({
    ...POSTS,
    "posts/*.md": "x",
    "posts/\n\u0001.md": "y",
  });
  const { service, write, commit } = site;
  await write("posts/a.md", "edited");
  await commit("Second", "--author=Ann ann@example.org <a@b.c>");
  const { items } = await service.list(LOCAL);
  const shown = items.map(({ name, lastChanged }) => [
    name,
    lastChanged?.message,
    lastChanged?.author.name,
  ]);
  assertEquals(shown, [
    ["\n\u0001.md", "First", "Test Author"],
    ["*.md", "First", "Test Author"],
    ["a.md", "Second", "Ann ann"],
    ["b.md", "First", "Test Author"],
  ]);
});

Deno.test("local history needs a checkout of its own", async () => {
  await using site = await startCheckout(POSTS);
  const { folder, repository, root, service } = site;
  const paths = [
    listPath(LOCAL),
    listPath({ owner: "local", sort: "lastChanged.date" }),
    itemPath({ ...LOCAL, path: "posts/a.md" }),
  ];
  // The folder above is a checkout. It is not served.
  await Deno.rename(`${folder}/.git`, `${root}/repos/.git`);
  const expectNone = async () => {
    for (const path of paths) {
      const { code, detail } = await service.problem(path);
      assertEquals(code, "history-unavailable");
      assert(detail.endsWith("to serve a checkout of Git that has a commit."));
    }
  };
  await expectNone();
  // Another repository is not the folder's own.
  await Deno.symlink(`${root}/repos/.git`, `${folder}/.git`);
  await expectNone();
  await Deno.remove(`${folder}/.git`);
  await repository.git("init", "--quiet");
  service.clock.advance(60_000);
  // It has no commit yet.
  await expectNone();
});

Deno.test({
  name: "local history needs the permission to run git",
  permissions: {
    env: "inherit",
    net: "inherit",
    read: "inherit",
    run: [Deno.execPath()],
    sys: "inherit",
    write: "inherit",
  },
  async fn() {
    await using folder = await makeSampleFolder({ "posts/a.md": "a" });
    await using service = await startService({
      env: { LOCAL_REPOS_DIR: folder.root },
    });
    const path = listPath({ ...LOCAL, repo: "blog" });
    const { code, detail } = await service.problem(path);
    assertEquals(code, "history-unavailable");
    assert(detail.endsWith("start the service with --allow-run=git."), detail);
  },
});

Deno.test("no configuration of a checkout runs a program", async () => {
  await using site = await startCheckout(POSTS);
  const { folder, repository, root, service, write, commit } = site;
  await write("posts/a.md", "edited");
  await write(".gitattributes", "*.md diff=evil filter=evil\n");
  await commit("Signed");
  const marker = `${root}/ran`;
  const evil = `${root}/evil.sh`;
  await Deno.writeTextFile(evil, `#!/bin/sh\necho "$0 $*" >> ${marker}\n`);
  await Deno.chmod(evil, 0o755);
  // A signature makes log.showSignature run a program.
  const body = await repository.git("cat-file", "commit", "HEAD");
  const signed = body.replace(
    "\n\n",
    "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n",
  );
  await Deno.writeTextFile(`${root}/commit`, signed);
  const id = await repository.git(
    "hash-object",
    "-t",
    "commit",
    "-w",
    "--literally",
    `${root}/commit`,
  );
  await repository.git("update-ref", "refs/heads/main", id);
  for (
    const [name, value] of Object.entries({
      "core.fsmonitor": evil,
      "core.pager": evil,
      "core.hooksPath": `${root}/hooks`,
      "core.sshCommand": evil,
      "core.gitProxy": evil,
      "core.editor": evil,
      "core.askPass": evil,
      "pager.log": evil,
      "alias.log": `!${evil}`,
      "log.showSignature": "true",
      "log.follow": "true",
      "log.mailmap": "true",
      "gpg.program": evil,
      "diff.external": evil,
      "diff.evil.textconv": evil,
      "diff.evil.command": evil,
      "filter.evil.clean": evil,
      "filter.evil.process": evil,
      "credential.helper": `!${evil}`,
      "protocol.ext.allow": "always",
      "protocol.allow": "always",
      "remote.origin.url": `ext::${evil}`,
      "remote.origin.promisor": "true",
      "extensions.partialClone": "origin",
      "core.repositoryFormatVersion": "1",
    })
  ) await repository.git("config", name, value);
  await Deno.mkdir(`${root}/hooks`);
  for (const hook of ["post-index-change", "reference-transaction"]) {
    await Deno.copyFile(evil, `${root}/hooks/${hook}`);
  }
  const list = () => service.list(LOCAL);
  const { items } = await list();
  assertEquals(items.map(({ lastChanged }) => lastChanged?.message), [
    "Signed",
    "First",
  ]);
  // Git would fetch a missing object from the remote.
  const tree = await repository.git("rev-parse", `${id}^{tree}`);
  await Deno.remove(
    `${folder}/.git/objects/${tree.slice(0, 2)}/${tree.slice(2)}`,
  );
  service.clock.advance(60_000);
  await write("posts/new.md", "");
  await list();
  const ran = await Deno.readTextFile(marker).catch(() => "nothing");
  assertEquals(ran, "nothing");
});

Deno.test("git that does not end is stopped after 10 seconds", async () => {
  await using site = await startCheckout(POSTS);
  const { folder, service } = site;
  await Deno.remove(`${folder}/.git/HEAD`);
  const { success } = await new Deno.Command("mkfifo", {
    args: [`${folder}/.git/HEAD`],
    env: gitEnvironment(),
  }).output();
  assert(success);
  let code: string | null = null;
  void service.problem(listPath(LOCAL)).then((problem) => code = problem.code);
  while (code === null) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    service.clock.advance(1_000);
  }
  assertEquals(code, "history-unavailable");
});

Deno.test("a long process of git is charged its time", async () => {
  await using site = await startCheckout(POSTS);
  for (
    const { takesMs, chargedMs } of [
      { takesMs: 0, chargedMs: 5 },
      { takesMs: 3_000, chargedMs: 3_000 },
    ]
  ) {
    const clock = new TestClock();
    // Git runs while its timer is set.
    clock.onTimer = () => {
      clock.onTimer = () => {};
      clock.advance(takesMs);
    };
    const charged: number[] = [];
    const context = backgroundContext("a", undefined, (ms) => {
      charged.push(ms);
    });
    const query = { files: [], withCreated: false };
    await new GitHistory(clock).read(site.folder, query, context);
    assertEquals(charged, [chargedMs]);
  }
});
