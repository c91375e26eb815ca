// Keeps a folder in step with a collection until Ctrl+C: `node sync.js <folder>`.
// It removes only files that it wrote. Its state file remembers which.

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import process from "node:process";
import { CollectionsClient } from "@repo-collections/client";

const repository = { owner: "local", repo: "blog" };
const folder = resolve(process.argv[2] ?? "copy");
const stateFile = join(folder, ".collection.json");
const client = new CollectionsClient(
  process.env.COLLECTIONS_URL ?? "http://localhost:8000",
);

function placeOf(path) {
  const place = resolve(folder, path);
  if (place.startsWith(folder + sep)) return place;
  throw new Error(`Cannot write "${path}": it is outside the folder`);
}

async function write(path) {
  let item;
  try {
    item = await client.getItem({ ...repository, path });
  } catch (error) {
    // A later update removes it.
    if (error.code === "item-not-found") return;
    throw error;
  }
  await mkdir(dirname(placeOf(path)), { recursive: true });
  await writeFile(placeOf(path), await client.bytes(item));
  console.log("wrote", path);
}

await mkdir(folder, { recursive: true });
const state = await readFile(stateFile, "utf8").then(JSON.parse, () => ({}));
const files = new Map(state.files);
const updates = client.changes({
  ...repository,
  collection: "posts",
  since: state.commit,
});
for await (
  const { isWhole, added, changed, removed, renamed, ...at } of updates
) {
  const written = [...added, ...changed, ...renamed];
  const kept = new Set(written.map(({ path }) => path));
  const gone = isWhole
    ? [...files.keys()].filter((path) => !kept.has(path))
    : [...removed.map(({ path }) => path), ...renamed.map(({ from }) => from)];
  for (const path of gone) {
    if (!files.delete(path)) continue;
    await rm(placeOf(path), { force: true });
    console.log("removed", path);
  }
  for (const { path, sha } of written) {
    if (files.get(path) !== sha) await write(path);
    files.set(path, sha);
  }
  const { commit } = at.repository;
  await writeFile(stateFile, JSON.stringify({ commit, files: [...files] }));
  console.log("in step with", commit);
}
