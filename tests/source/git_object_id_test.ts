// The ids are compared with those of the git command.

import { assertEquals } from "@std/assert";
import { makeGitRepository } from "../github/git_repository.ts";
import {
  blobHash,
  blobId,
  type GitMode,
  inGitOrder,
  treeId,
} from "../../lib/source/git_object_id.ts";

const contents: Record<string, Uint8Array> = {
  "empty": new Uint8Array(0),
  "text.md": new TextEncoder().encode("# Hello\n"),
  "crlf.md": new TextEncoder().encode("one\r\ntwo\r\n"),
  "bom.md": new TextEncoder().encode("\uFEFFtext\n"),
  "latin-1.txt": Uint8Array.of(0x4b, 0xf6, 0x6c, 0x6e),
  "every byte": Uint8Array.from({ length: 256 }, (_, index) => index),
  "large.bin": Uint8Array.from({ length: 1_500_000 }, (_, index) => (index * 7) >> 3),
};

Deno.test("blobId() gives the id of git hash-object", async () => {
  await using repository = await makeGitRepository({}, { bare: false });
  for (const [name, bytes] of Object.entries(contents)) {
    await Deno.writeFile(`${repository.dir}/${name}`, bytes);
    assertEquals(blobId(bytes), await repository.git("hash-object", "--no-filters", name), name);
  }
});

Deno.test("blobHash() gives the blob id of bytes fed in parts", () => {
  const bytes = contents["large.bin"]!;
  const hash = blobHash(bytes.length);
  for (let at = 0; at < bytes.length; at += 65_537) hash.update(bytes.subarray(at, at + 65_537));
  assertEquals(hash.digest("hex"), blobId(bytes));
});

Deno.test("treeId() and inGitOrder() agree with git write-tree, whatever the order given", async () => {
  await using repository = await makeGitRepository({}, { bare: false });
  const dir = repository.dir;
  const names = ["b", "a.md", "a-b", "a0", "Z", "ä.md", "ﾟ.md", "🍞.md", "with space", "{}"];
  for (const name of names) await Deno.writeTextFile(`${dir}/${name}`, name);
  await Deno.mkdir(`${dir}/a`);
  await Deno.writeTextFile(`${dir}/a/file`, "below");
  await Deno.writeTextFile(`${dir}/run.sh`, "#!/bin/sh\n");
  await Deno.chmod(`${dir}/run.sh`, 0o755);
  await Deno.symlink("a.md", `${dir}/link`);
  await repository.git("add", "--all");

  const tree = await repository.git("write-tree");
  const listed = (await repository.git("ls-tree", "-z", tree)).split("\0").filter((line) => line);
  const entries = listed.map((line) => {
    const [, mode, id, name] = /^0?(\d+) \w+ (\w{40})\t(.*)$/.exec(line)!;
    return { mode: mode as GitMode, id: id!, name: name! };
  });

  assertEquals(entries.length, names.length + 3);
  assertEquals(treeId(entries.toReversed()), tree);
  assertEquals(inGitOrder(entries.toReversed()), entries);
});

Deno.test("treeId() of no entries is Git's empty tree", () => {
  assertEquals(treeId([]), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
});
