// What rendering Markdown costs, and how long hostile files stop the thread that serves requests, which they must not
// for more than 50 ms: deno task bench:markdown

import { systemClock } from "../lib/clock.ts";
import { MarkdownRenderer } from "../lib/markdown/renderer.ts";
import { joinHtml } from "../lib/markdown/rendered.ts";

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
await renderer.render([{ id: "a", name: "a.md", text: "a" }]);
console.log(`start: ${(performance.now() - startedAtMs).toFixed(0)} ms`);

const posts = Array.from({ length: 100 }, (_, i) => ({ id: `${i}`, name: "a.md", text: post(i) }));
for (const round of [1, 2]) {
  let results: Awaited<ReturnType<typeof renderer.render>> | undefined;
  startedAtMs = performance.now();
  const delays = await delaysOf(async () => {
    results = await renderer.render(posts);
  });
  const ms = (performance.now() - startedAtMs) / posts.length;
  console.log(`20 kB post, round ${round}: ${ms.toFixed(1)} ms; ${delays}`);
  startedAtMs = performance.now();
  let length = 0;
  for (const result of results?.values() ?? []) {
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
    const results = await renderer.render([{ id: "a", name: "a.md", text }]);
    const result = results.get("a")!;
    outcome = "message" in result ? result.message : "rendered";
  });
  const ms = (performance.now() - startedAtMs).toFixed(0);
  const rssMb = (Deno.memoryUsage().rss / 1e6).toFixed(0);
  console.log(`${name}: ${ms} ms; ${delays}; ${rssMb} MB resident; ${outcome}`);
}
renderer.close();
