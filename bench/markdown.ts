// What rendering Markdown costs, and how long hostile files stop the thread that serves requests, which they must not
// for more than 50 ms; then the same through a service: pages as HTML, neighbors, and the hits of another client while
// hostile files are rendered: deno task bench:markdown

import { systemClock } from "../lib/clock.ts";
import { MarkdownRenderer } from "../lib/markdown/renderer.ts";
import { joinHtml } from "../lib/markdown/rendered.ts";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { startDouble } from "../tests/github/start_double.ts";
import { pause, processorMs, withProcesses } from "./processes.ts";
import { RawClient } from "./raw_client.ts";
import { type Goal, goalTable, median, number, percentile } from "./report.ts";
import { OWNER, settingsFor, TOKEN } from "./repositories.ts";
import { startService } from "./service_process.ts";

const MIB = 1024 * 1024;
const SENTENCE =
  "Some *emphasised* text, `code` and **more** of it, in a sentence of a usual length. ";

/** A post of 20 kB: headings, prose, links, images, a list and code. */
function post(n: number): string {
  let text = `# Post ${n}\n\n`;
  for (let i = 0; text.length < 20_000; i++) {
    text += `## Section ${i}\n\n${SENTENCE.repeat(6)}\n\nSee [this](./post-${i}.md), ` +
      `[that](https://a.example/${i}) and ![it](img/${i}.png).\n\n- one\n- two\n\n` +
      `\`\`\`js\nconst a = ${i};\n\`\`\`\n\n`;
  }
  return text;
}

const fill = (text: string) => text.repeat(MIB / text.length);
const HOSTILE = {
  "1 MiB of posts": fill(post(0)),
  "block quotes": fill(">"),
  lists: fill("- "),
  brackets: fill("["),
  images: fill("![["),
  emphasis: fill("*a_ "),
  strong: fill("**x*"),
  tables: `${"|a".repeat(500)}\n${"|-".repeat(500)}\n${"|b\n".repeat(300_000)}`,
  elements: fill("<b>"),
  headings: fill("# a\n"),
  NUL: fill("\0"),
  tabs: fill("\t"),
};

/** How much later than they should timers of 5 ms ring while `work` goes on: the longest time, and that of 99 %. */
async function delaysOf(work: () => Promise<void>): Promise<string> {
  const delays: number[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    delays.push(performance.now() - last - 5);
    last = performance.now();
  }, 5);
  await work();
  clearInterval(timer);
  delays.sort((a, b) => a - b);
  const p99 = delays[Math.floor(delays.length * 0.99)] ?? 0;
  return `delay p99 ${p99.toFixed(1)} ms, max ${(delays.at(-1) ?? 0).toFixed(1)} ms`;
}

const renderer = new MarkdownRenderer({ clock: systemClock });
let startedAtMs = performance.now();
await renderer.render({ name: "a.md", text: "a" });
console.log(`start: ${(performance.now() - startedAtMs).toFixed(0)} ms`);

const posts = Array.from({ length: 100 }, (_, i) => ({ name: "a.md", text: post(i) }));
for (const round of [1, 2]) {
  let results: Awaited<ReturnType<typeof renderer.render>>[] = [];
  startedAtMs = performance.now();
  const delays = await delaysOf(async () => {
    results = await Promise.all(posts.map((post) => renderer.render(post, { client: "a" })));
  });
  const ms = (performance.now() - startedAtMs) / posts.length;
  console.log(`20 kB post, round ${round}: ${ms.toFixed(1)} ms; ${delays}`);
  startedAtMs = performance.now();
  let length = 0;
  for (const result of results) {
    if ("message" in result) throw new Error(result.message);
    length += joinHtml(result, ({ path }) =>
      `https://a.example/${encodeURIComponent(path)}`).length;
  }
  const joinMs = performance.now() - startedAtMs;
  console.log(`join of 100: ${joinMs.toFixed(1)} ms for ${(length / 1e6).toFixed(1)} MB`);
}

for (const [name, text] of Object.entries(HOSTILE)) {
  let outcome = "";
  startedAtMs = performance.now();
  const delays = await delaysOf(async () => {
    const result = await renderer.render({ name: "a.md", text });
    outcome = "message" in result ? result.message : "rendered";
  });
  const ms = (performance.now() - startedAtMs).toFixed(0);
  const rssMb = (Deno.memoryUsage().rss / 1e6).toFixed(0);
  console.log(`${name}: ${ms} ms; ${delays}; ${rssMb} MB resident; ${outcome}`);
}
renderer.close();

/** A post of 20 kB with front matter and 100 relative addresses, of which a quarter is in no other post. */
function linkedPost(n: number): string {
  let text = `---\ntitle: Post ${n}\nweight: ${n % 40}\n---\n# Post ${n}\n\n`;
  for (let i = 0; i < 25; i++) {
    text += `## Section ${i}\n\n${SENTENCE.repeat(7)}\n\nSee [this](post-${i}.md), ` +
      `[that](./post-${(i * 7 + n) % 100}.md#section-1), [a file](../code/${i}.ts) and ` +
      `![it](img/${n}-${i}.png).\n\n- one\n- two\n\n\`\`\`js\nconst a = ${i};\n\`\`\`\n\n`;
  }
  return text;
}

/** Measures through a service of its own, whose source is a double. */
async function measureService(cleanup: AsyncDisposableStack): Promise<Goal[]> {
  const repository = cleanup.use(
    await makeGitRepository([
      ...Object.entries(HOSTILE).map(([name, text]) => [`hostile/${name}.md`, text] as const),
      ...Array.from({ length: 100 }, (_, n) => [`posts/post-${n}.md`, linkedPost(n)] as const),
      ...Array.from(
        { length: 3_000 },
        (_, n) => [`many/${n}.md`, `---\nweight: ${n % 40}\n---\n# ${n}\n`] as const,
      ),
    ]),
  );
  const double = cleanup.use(
    await startDouble({
      repositories: { [`${OWNER}/blog`]: { dir: repository.dir } },
      tokens: { [TOKEN]: { sees: "all" } },
    }),
  );
  await double.call("setQuota", TOKEN, { limit: 1_000_000, remaining: 1_000_000 });
  const service = cleanup.use(
    await startService({
      env: { ...settingsFor(double), TRUST_PROXY: "true", CACHE_MEMORY_MB: "256" },
    }),
  );
  const client = cleanup.use(await RawClient.connect(service.origin));
  const get = async (operation: string, parameters: Record<string, string>, of = client) => {
    const query = new URLSearchParams({ owner: OWNER, repo: "blog", ...parameters });
    const startedMs = performance.now();
    const { status, body } = await of.get(`/api/${operation}?${query}`, {
      "x-forwarded-for": of === client ? "192.0.2.1" : "192.0.2.2",
    });
    return { status, bytes: body.length, ms: performance.now() - startedMs };
  };
  /** A page that is made anew, though everything in it is cached: each template is a response of its own. */
  let made = 0;
  const page = (include: string) =>
    get("list-collection-items", {
      ...{ collection: "posts", limit: "100", [include]: "true" },
      linkTemplate: `/blog/${made++}/{slug}`,
    });
  for (const include of ["includeContent", "includeHtml"]) {
    while ((await page(include)).status !== 200) await pause(500);
  }
  const times: Record<string, number[]> = { includeContent: [], includeHtml: [] };
  for (let round = 0; round < 20; round++) {
    for (const [include, of] of Object.entries(times)) {
      of.push((await page(include)).ms);
      // A body is compressed after it is sent.
      await pause(300);
    }
  }
  const [content, html] = [median(times.includeContent!), median(times.includeHtml!)];

  const around = { includeNeighbors: "true", sort: "-frontMatter.weight", collection: "many" };
  const item = (more: Record<string, string>) =>
    get("get-item-content", { linkTemplate: `/${made++}/{slug}`, ...more });
  while ((await item({ ...around, slug: "7" })).status !== 200) await pause(500);
  const costOf = async (more: (n: number) => Record<string, string>) => {
    for (let n = 0; n < 500; n++) await item(more(n));
    const beforeMs = await processorMs(service.pid);
    for (let n = 0; n < 1_000; n++) await item(more(n % 500));
    return (await processorMs(service.pid) - beforeMs) / 1_000;
  };
  const byPathMs = await costOf((n) => ({ path: `many/${n}.md` }));
  await double.call("resetCounts");
  const aroundMs = await costOf((n) => ({ ...around, slug: `${n}` }));
  // The check of the branch is no part of a request: it is done once a minute.
  const { commit: _, ...requests } = await double.call("counts") as Record<string, number>;
  const upstream = Object.values(requests).reduce((sum, count) => sum + count, 0);

  using other = await RawClient.connect(service.origin);
  const hits: number[] = [];
  let isDone = false;
  const reading = (async () => {
    while (!isDone) {
      const hit = await get("list-collection-items", { collection: "many", limit: "10" }, other);
      if (hit.status !== 200) throw new Error(`Cannot read a hit: status ${hit.status}`);
      hits.push(hit.ms);
      await pause(5);
    }
  })();
  for (const name of Object.keys(HOSTILE)) {
    const path = `hostile/${name}.md`;
    const { status } = await get("get-item-content", { path, includeHtml: "true" });
    if (status !== 200) throw new Error(`Cannot read "${path}": status ${status}`);
  }
  isDone = true;
  await reading;
  const p99 = percentile(hits, 0.99);
  return [
    {
      what: "100 posts of 20 kB as HTML, of the time of the same page with content",
      wanted: "at most 1.3 times",
      measured: `${number(html / content)} (${number(html)} ms and ${number(content)} ms)`,
      met: html / content <= 1.3,
    },
    {
      what: "a post with neighbors, of the processor time of one by path",
      wanted: "at most 5 times",
      measured: `${number(aroundMs / byPathMs)} (${number(aroundMs)} ms and ${
        number(byPathMs)
      } ms)`,
      met: aroundMs / byPathMs <= 5,
    },
    {
      what: "requests to the source of 1,500 posts with neighbors",
      wanted: "0",
      measured: `${upstream}`,
      met: upstream === 0,
    },
    {
      what: "hits of another client while hostile files of 1 MiB are rendered, p99",
      wanted: "under 100 ms",
      measured: `${number(p99)} ms of ${hits.length}, the slowest ${number(Math.max(...hits))} ms`,
      met: p99 < 100,
    },
  ];
}

await withProcesses(async (cleanup) => {
  const goals = await measureService(cleanup);
  console.log(`\n${goalTable(goals)}`);
  if (goals.some(({ met }) => !met)) Deno.exitCode = 1;
});
