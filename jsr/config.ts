// Prints the name of the configuration that a task runs with: deno.online.json
// where JSR answers, otherwise deno.offline.json, which links the stand-ins
// beside this file. Both are made of deno.json and are not committed. With
// "dev" it is deno.online.dev.json or deno.offline.dev.json, which add the
// packages of tests/ and bench/: Deno installs the packages of every workspace
// member, and the service should download only what it runs.
//
// Each has a lock file of its own that begins as a copy of deno.lock, because
// Deno would write JSR's packages, or the links, into deno.lock itself. `deno
// task lock` takes new packages over. For the same reason deno.json has
// "nodeModulesDir": "manual": with "auto" every `deno task` would install all
// packages before it begins.

type Way = "online" | "offline";

const DAY_MS = 86_400_000;
const ASK_WITHIN_MS = 3_000;
const root = new URL("../", import.meta.url);

/**
 * The name of the configuration, in the project's root; made anew after a
 * change of deno.json or deno.lock.
 */
export async function configName(
  kind: "service" | "dev" = "service",
): Promise<string> {
  const way = await chosenWay() ?? await choose();
  return kind === "dev" ? `deno.${way}.dev.json` : `deno.${way}.json`;
}

/**
 * Null where nothing is chosen. A failure of JSR counts for a day, an answer
 * for as long as the file exists.
 */
async function chosenWay(): Promise<Way | null> {
  const since = Math.max(
    await modifiedMs("deno.json"),
    await modifiedMs("deno.lock"),
  );
  if (await modifiedMs("deno.online.json") >= since) return "online";
  const earliest = Math.max(since, Date.now() - DAY_MS);
  return await modifiedMs("deno.offline.json") >= earliest ? "offline" : null;
}

async function choose(): Promise<Way> {
  const way = await jsrAnswers() ? "online" : "offline";
  const { workspace, ...service } = await readJson("deno.json");
  service.nodeModulesDir = "auto";
  if (way === "offline") service.links = await standIns();
  const lock = await Deno.readTextFile(urlOf("deno.lock"));
  for (const kind of ["dev.", ""]) {
    await writeText(`deno.${way}.${kind}lock`, lock);
  }
  const dev = { ...service, workspace, lock: `deno.${way}.dev.lock` };
  await writeJson(`deno.${way}.dev.json`, dev);
  // Last, since its presence is the choice.
  await writeJson(`deno.${way}.json`, { ...service, lock: `deno.${way}.lock` });
  console.error(
    way === "online"
      ? "JSR answers: using the published packages, which the first start installs"
      : "JSR does not answer: using the stand-ins in jsr/; delete deno.offline.json to ask again. The first start " +
        "installs packages from npm",
  );
  return way;
}

/** Requests Fresh's list of versions from where Deno would, at JSR_URL. */
async function jsrAnswers(): Promise<boolean> {
  try {
    const url = new URL(
      "/@fresh/core/meta.json",
      Deno.env.get("JSR_URL") ?? "https://jsr.io",
    );
    const response = await fetch(url, {
      signal: AbortSignal.timeout(ASK_WITHIN_MS),
    });
    return "versions" in await response.json();
  } catch {
    return false;
  }
}

async function standIns(): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(urlOf("jsr")));
  return entries.filter(({ isDirectory }) => isDirectory).map(({ name }) =>
    `./jsr/${name}`
  ).sort();
}

/**
 * Takes the packages that the last task resolved into deno.lock, the links left
 * out.
 */
async function updateLock(): Promise<void> {
  const lock = await readJson(
    (await configName("dev")).replace(/json$/, "lock"),
  );
  delete (lock.workspace as Record<string, unknown>).links;
  await writeJson("deno.lock", lock);
}

async function modifiedMs(name: string): Promise<number> {
  const info = await Deno.stat(urlOf(name)).catch(() => null);
  return info?.mtime?.getTime() ?? -1;
}

async function readJson(name: string): Promise<Record<string, unknown>> {
  return JSON.parse(await Deno.readTextFile(urlOf(name)));
}

async function writeJson(name: string, value: unknown): Promise<void> {
  await writeText(name, `${JSON.stringify(value, null, 2)}\n`);
}

/** Another task never reads half a file. */
async function writeText(name: string, text: string): Promise<void> {
  const draft = urlOf(`${name}.${Deno.pid}`);
  await Deno.writeTextFile(draft, text);
  await Deno.rename(draft, urlOf(name));
}

function urlOf(name: string): URL {
  return new URL(name, root);
}

if (import.meta.main) {
  const [kind] = Deno.args;
  if (kind === "lock") await updateLock();
  else console.log(await configName(kind === "dev" ? "dev" : "service"));
}
