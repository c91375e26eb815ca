// Runs the tasks as a supervisor should, by `deno task`, which passes signals
// on. `npx` does not, and is not tested.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { configName } from "../jsr/config.ts";
import { SETTING_NAMES } from "../lib/settings.ts";
import { makeGitRepository } from "./github/git_repository.ts";
import { GithubDouble } from "./github/github_double.ts";
import { runTask, serveTask } from "./run_task.ts";
import { readSourceFiles, root } from "./source_files.ts";

const { tasks } = JSON.parse(await Deno.readTextFile(join(root, "deno.json")));
const LIST =
  "/api/list-collection-items?owner=local&repo=blog&collection=posts";

type Task = Awaited<ReturnType<typeof serveTask>>;

const fetchJson = async ({ url }: Task, path: string) =>
  await (await fetch(url + path)).json();

function freePort(): number {
  const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  free.close();
  return free.addr.port;
}

/**
 * Whether a connection is accepted; one that is reset came while the listener
 * closed.
 */
async function connects(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch (error) {
    assert(
      /^(ConnectionRefused|ConnectionReset|NotConnected)$/
        .test((error as Error).name),
      `${error}`,
    );
    return false;
  }
}

Deno.test("tasks have no permission beyond what they need", async () => {
  const names = [
    ...SETTING_NAMES,
    "DENO_DEPLOYMENT_ID",
    "DENO_KV_ACCESS_TOKEN",
  ];
  assertEquals(tasks.settings, `echo ${names.join()}`);
  const common =
    "--no-prompt --ignore-env --allow-env=$(deno task -q settings)";
  const started = `${common} --allow-net --allow-sys=getPriority,setPriority ` +
    "--allow-read=. --allow-write=./data main.ts";
  const engine = "--v8-flags=" + [
    "--heap-growing-percent=30",
    "--max-semi-space-size=4",
    "--concurrent-marking-max-worker-num=1",
    "--no-memory-pool",
    "--no-large-page-pool",
  ].join();
  const expected: Record<string, string> = {
    "start": `${engine} ${started}`,
    "start:parallel": `${engine} ${started} parallel'`,
    "dev": `--watch=routes,static ${started}`,
    "preview": `${common} --allow-net=127.0.0.1 --allow-read main.ts preview`,
  };
  for (const [task, flags] of Object.entries(expected)) {
    const command: string = tasks[task];
    const isAll = command.endsWith(flags) &&
      !command.replace(flags, "").includes("--allow");
    assert(isAll, `${task}: ${command}`);
  }
  assertMatch(
    tasks.start,
    /^DENO_TOKIO_EVENT_INTERVAL=2 MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=8192 MALLOC_MMAP_MAX_=32768 deno run /,
  );
  assertMatch(tasks["start:parallel"], /^DENO_TOKIO_EVENT_INTERVAL=2 sh /);
  for (const command of Object.values<string>(tasks)) {
    assert(!/\s(-A|--allow-all)\b/.test(command), command);
  }
  assertMatch(
    await Deno.readTextFile(join(root, ".gitignore")),
    /^\/?data\/$/m,
  );
});

Deno.test("the image has every folder with code of the service", async () => {
  const copied = (await Deno.readTextFile(join(root, "Dockerfile")))
    .matchAll(/^COPY --chown=deno:deno (\w+) /gm).map(([, name]) => name!)
    .toArray();
  const folders = new Set(
    (await readSourceFiles()).flatMap(({ path }) =>
      path.match(/^\w+(?=\/)/) ?? []
    ),
  ).difference(new Set(["bench", "tests"]));
  assert(folders.has("packages") && folders.has("lib"));
  assertEquals([...folders].filter((name) => !copied.includes(name)), []);
});

for (const task of ["start", "start:parallel"]) {
  Deno.test({
    name: `${task} prints where to go in a terminal, once`,
    ignore: await Deno.stat("/usr/bin/script").then(() => false, () => true),
    async fn() {
      const port = task === "start" ? 0 : freePort();
      const env = `PORT=${port} KV_PATH=:memory: DENO_JOBS=2`;
      const command = `${env} '${Deno.execPath()}' task -q ${task}`;
      await using child = new Deno.Command("/usr/bin/script", {
        args: ["--quiet", "--flush", "--command", command, "/dev/null"],
        cwd: root,
        stdin: "null",
        stdout: "piped",
      }).spawn();
      let text = "";
      const isReady = () => {
        const starts = text.match(/"event":"listening"/g)?.length ?? 0;
        return starts >= (task === "start" ? 1 : 2) &&
          /^Open http:\/\/localhost:\d+\/\r?\n/m.test(text);
      };
      for await (
        const part of child.stdout.pipeThrough(new TextDecoderStream())
      ) {
        text += part;
        if (isReady()) break;
      }
      assertEquals(text.match(/Open http/g)?.length, 1, text);
    },
  });
}

Deno.test({
  name: "the content thread gives way to the serving thread",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using service = await serveTask("start");
    const { items } = await fetchJson(service, `${LIST}&includeHtml=true`);
    assert(items.length > 0);
    // The service is a child of the process that was started.
    const script = 'for status in $(grep -ls "^PPid:[[:space:]]*$0$" ' +
      "/proc/[0-9]*/status); do cat ${status%us} ${status%status}task/*/stat; " +
      "done";
    const { stdout } = await new Deno.Command("sh", {
      args: ["-c", script, `${service.pid}`],
    }).output();
    // The nice value is field 19 (proc_pid_stat(5)).
    const lines = new TextDecoder().decode(stdout).trim().split("\n");
    const niceOf = (line: string) =>
      Number(line.split(") ")[1]!.split(" ")[16]);
    const main = niceOf(lines[0]!);
    const workers = lines.filter((line) => line.includes("(worker-"))
      .map(niceOf);
    // The web worker and the content thread in it.
    assert(main < 19 && workers.length >= 2, lines.join("\n"));
    const lower = Math.min(main + 10, 19);
    assert(workers.every((nice) => nice === lower), lines.join("\n"));
  },
});

Deno.test("start answers while nobody reads its log", async () => {
  const unread = Promise.withResolvers<void>();
  await using service = await serveTask("start", { unread: unread.promise });
  // Lines of some 400 bytes, many times what a pipe takes.
  const path = `/${"x".repeat(199)}`;
  for (let n = 0; n < 40; n++) {
    const bodies = await Promise.all(
      Array.from({ length: 50 }, () => fetchJson(service, path)),
    );
    for (const { status } of bodies) assertEquals(status, 404);
  }
  unread.resolve();
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`start finishes what runs on ${signal} and closes`, async () => {
    await using git = await makeGitRepository({ "posts/a.md": "# A\n" });
    await using gh = new GithubDouble();
    gh.add("octo/site", git);
    const file = `test-${crypto.randomUUID()}.db`;
    await using service = await serveTask("start", {
      env: {
        GITHUB_API_URL: gh.apiUrl,
        KV_PATH: `./data/${file}`,
        SOURCE_TIMEOUT_MS: "60000",
      },
    });
    gh.fault = { kind: "slow", delayMs: 60_000 };
    const answer = fetchJson(
      service,
      LIST.replace("local&repo=blog", "octo&repo=site"),
    );
    await gh.log.until(() => gh.pauses.waiting > 0);

    service.signal(signal);
    while (await connects(service.port));
    for (const repeated of [signal, "SIGINT", "SIGTERM", signal] as const) {
      service.signal(repeated);
    }
    gh.fault = null;
    gh.pauses.release();

    assertEquals((await answer).items[0].path, "posts/a.md");
    const { code, stdout, stderr } = await service.ended;
    assertEquals([code, stderr], [0, ""]);
    assertMatch(stdout, /"event":"request".*"status":200/);
    assertMatch(stdout, /"event":"stopped","seconds":\d+}\n$/);

    // SQLite removes its log when the last handle is closed properly.
    const data = await Array.fromAsync(
      Deno.readDir(join(root, "data")),
      ({ name }) => name,
    );
    assertEquals(data.filter((name) => name.startsWith(file)), [file]);
    const kv = await Deno.openKv(join(root, "data", file));
    assert((await Array.fromAsync(kv.list({ prefix: [] }))).length > 0);
    kv.close();
    await Deno.remove(join(root, "data", file));
  });
}

Deno.test("start is not ready while it waits to stop", async () => {
  await using service = await serveTask("start", {
    env: { SHUTDOWN_DELAY_MS: "1500" },
  });
  const status = async (path: string) => {
    const response = await fetch(service.url + path);
    await response.body?.cancel();
    return response.status;
  };
  const ready = "/api/health?ready";
  assertEquals(await status(ready), 200);
  service.signal("SIGTERM");
  while (await status(ready) === 200);
  assertEquals([await status("/api/health"), await status(LIST)], [200, 200]);
  assertEquals((await service.ended).code, 0);
});

/** Sends one request on a new connection. */
type Send = (
  path: string,
  client?: string,
) => Promise<{ response: Response; isolate: string }>;

/** Runs two isolates that share a port. */
async function withIsolates(
  env: Readonly<Record<string, string>>,
  work: (send: Send) => Promise<void>,
): Promise<void> {
  const folder = `data/parallel-${crypto.randomUUID()}`;
  const port = freePort();
  try {
    await using service = await serveTask("start:parallel", {
      env: {
        PORT: `${port}`,
        HOST: "127.0.0.1",
        KV_PATH: `./${folder}/kv`,
        DENO_JOBS: "2",
        ...env,
      },
    });
    // An isolate tells that it is open before Deno listens.
    while (!await connects(port)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const send: Send = async (path, client = "10.0.0.1") => {
      // A request on a connection of its own goes to any isolate.
      const headers = { connection: "close", "x-forwarded-for": client };
      const url = `http://127.0.0.1:${port}${path}`;
      const response = await fetch(url, { headers });
      const id = response.headers.get("x-request-id") ?? "";
      return { response, isolate: id.split("-")[0]! };
    };
    // One isolate may listen later than the other.
    for (const isolates = new Set<string>(); isolates.size < 2;) {
      const { response, isolate } = await send("/api/health");
      await response.body?.cancel();
      isolates.add(isolate);
    }
    await work(send);
    service.signal("SIGTERM");
    assertEquals((await service.ended).code, 0);
    await Deno.stat(join(root, folder, "kv"));
  } finally {
    await Deno.remove(join(root, folder), { recursive: true });
  }
}

Deno.test("start:parallel serves from two isolates and closes", () =>
  withIsolates({}, async (send) => {
    const isolates = new Set<string>();
    while (isolates.size < 2) {
      const { response, isolate } = await send(LIST);
      const { items } = await response.json();
      assertEquals([response.status, items.length > 0], [200, true]);
      isolates.add(isolate);
    }
  }));

Deno.test("isolates stay under 100 requests to GitHub together", async () => {
  await using gh = new GithubDouble();
  const git = await makeGitRepository({ "posts/a.md": "a" });
  for (let n = 0; n < 300; n++) gh.add(`octo/site${n}`, git);
  gh.addToken("secret");
  const pause = (ms: number) =>
    new Promise<void>((resolve) => setTimeout(resolve, ms));
  const both = Promise.withResolvers<void>();
  let latest: Promise<void> | undefined;
  gh.intercept = async () => {
    // A busy machine takes a while until both isolates send all that they may.
    // The time is for all requests together: an answer needs several.
    latest ??= pause(5_000);
    if (gh.log.maxConcurrent > 90) both.resolve();
    await Promise.race([both.promise, latest]);
    await pause(100);
    return null;
  };
  const env = {
    GITHUB_API_URL: gh.apiUrl,
    GITHUB_TOKEN: "secret",
    MISSES_PER_MINUTE: "0",
    SOURCE_TIMEOUT_MS: "12000",
    TRUST_PROXY: "true",
  };
  await withIsolates(env, async (send) => {
    // Those that the pace of 900 a minute keeps waiting are 503.
    const answers = await Promise.all(
      Array.from({ length: 300 }, async (_, n) => {
        const { response, isolate } = await send(
          `/api/list-collection-items?owner=octo&repo=site${n}&collection=posts`,
          `10.0.${n >> 4}.${n & 15}`,
        );
        await response.body?.cancel();
        return `${isolate} ${response.status}`;
      }),
    );
    const served = new Set(answers.filter((answer) => answer.endsWith("200")));
    assertEquals(served.size, 2);
  });
  const { maxConcurrent } = gh.log;
  // One isolate alone has up to 48.
  assert(maxConcurrent > 48 && maxConcurrent < 100, `${maxConcurrent} at once`);
});

Deno.test("REQUIRE_PUBLISHED refuses the stand-ins", async () => {
  const env = { REQUIRE_PUBLISHED: "true" };
  const isOnline = (await configName()).includes("online");
  if (isOnline) {
    await using service = await serveTask("start", { env });
    assertEquals((await fetchJson(service, LIST)).collection.name, "posts");
    return;
  }
  const { code, stderr } = await runTask("start", { env });
  assertEquals(code, 1);
  assertMatch(stderr, /^Cannot start with "REQUIRE_PUBLISHED": .+\n$/);
});

Deno.test("start stops with one line that names what is unusable", async () => {
  using busy = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const PORT = `${busy.addr.port}`;
  const outside = await Deno.makeTempDir();
  const cases: [task: string, env: Record<string, string>, line: string][] = [
    [
      "start",
      { PORT: "http" },
      'Cannot start with "PORT": must be a whole number',
    ],
    [
      "start",
      { HOST: "127.0.0.1", PORT },
      `Cannot listen on "127.0.0.1:${PORT}": it is in use, set PORT to a free one`,
    ],
    [
      "start",
      { KV_PATH: `${outside}/kv.db` },
      `Cannot start with "KV_PATH": Cannot open the key-value store "${outside}/kv.db": ` +
      `its permission is missing, add --allow-read=${outside} --allow-write=${outside}`,
    ],
    [
      "preview",
      {},
      'Cannot start a preview: name one folder, as in "deno task preview ../my-repos"',
    ],
  ];
  for (const [task, env, line] of cases) {
    assertEquals(await runTask(task, { env }), {
      code: 1,
      stdout: "",
      stderr: `${line}\n`,
    });
  }
  await Deno.remove(outside, { recursive: true });
});

Deno.test("preview serves a folder on the loopback interface only", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(join(folder, "site/posts"), { recursive: true });
  await Deno.writeTextFile(
    join(folder, "site/posts/a.md"),
    "---\ntitle: A\n---\n",
  );
  const others = Array.from(
    { length: 20 },
    (_, n) => `b${String(n).padStart(2, "0")}`,
  );
  // The first two are no repositories: no request could name them.
  for (const name of [".hidden", "two words", ...others]) {
    await Deno.mkdir(join(folder, name));
  }
  {
    // The preview ignores the environment's settings of the address and of
    // folders.
    const env = {
      HOST: "0.0.0.0",
      LOCAL_REPOS_DIR: "none",
      KV_PATH: join(folder, "kv.db"),
    };
    await using service = await serveTask("preview", { args: [folder], env });
    assertEquals(service.host, "127.0.0.1");
    const list = await fetchJson(
      service,
      LIST.replace("repo=blog", "repo=site"),
    );
    assertEquals(list.items[0].path, "posts/a.md");
    const elsewhere = await fetchJson(
      service,
      LIST.replace("owner=local", "owner=octo"),
    );
    assertEquals(elsewhere.code, "repository-not-allowed");
    service.signal("SIGTERM");
    const { code, stdout } = await service.ended;
    const lines = stdout.split("\n").filter((line) =>
      line.includes('"event":"preview"')
    );
    assertEquals([code, lines.length], [0, 1], stdout);
    const { url, repositories, names } = JSON.parse(lines[0]!);
    assertEquals([url, repositories, names], [
      `${service.url}/`,
      21,
      others.join(", "),
    ]);
  }
  const left = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
  assertEquals(left.sort(), [".hidden", ...others, "site", "two words"]);
  await Deno.remove(folder, { recursive: true });
});
