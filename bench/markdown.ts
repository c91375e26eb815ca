// `deno task bench:markdown`: through a service, the time of pages as HTML, the
// processor time of a post with neighbors, and the hits of another client while
// hostile Markdown is rendered, which must not be late. Fails where a goal is
// missed.

import type { ContentBody } from "../lib/api/contract.ts";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { json } from "../tests/raw_http.ts";
import { itemPath, listPath } from "../tests/service.ts";
import {
  get,
  pause,
  processorMs,
  startService,
  startSource,
  untilAnswered,
} from "./processes.ts";
import {
  atMost,
  median,
  number,
  p99,
  runBench,
  sample,
  table,
} from "./report.ts";

const SENTENCE =
  "Some *emphasised* text, `code` and **more** of it, in a sentence of a usual length. ";

/**
 * A post of 20 kB with front matter and 100 relative addresses, of which a
 * quarter is in no other post.
 */
export function post(n: number): string {
  let text = `---\ntitle: Post ${n}\nweight: ${n % 40}\n---\n# Post ${n}\n\n`;
  for (let i = 0; i < 25; i++) {
    text +=
      `## Section ${i}\n\n${SENTENCE.repeat(7)}\n\nSee [this](post-${i}.md), ` +
      `[that](./post-${
        (i * 7 + n) % 100
      }.md#section-1), [a file](../code/${i}.ts) and ` +
      `![it](img/${n}-${i}.png).\n\n- one\n- two\n\n\`\`\`js\nconst a = ${i};\n\`\`\`\n\n`;
  }
  return text;
}

const fill = (text: string) => text.repeat(2 ** 20 / text.length);
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

function* files(): Generator<readonly [path: string, content: string]> {
  for (const [name, text] of Object.entries(HOSTILE)) {
    yield [`hostile/${name}.md`, text];
  }
  for (let n = 0; n < 100; n++) yield [`posts/post-${n}.md`, post(n)];
  for (let n = 0; n < 3_000; n++) {
    yield [`many/${n}.md`, `---\nweight: ${n % 40}\n---\n# ${n}\n`];
  }
}

const NEIGHBORS = {
  collection: "many",
  sort: "-frontMatter.weight",
  includeNeighbors: true,
};

async function measure(cleanup: AsyncDisposableStack) {
  const repository = cleanup.use(await makeGitRepository(files()));
  const { double, settings } = await startSource(cleanup, {
    "octo/site": { dir: repository.dir },
  });
  const env = { ...settings, TRUST_PROXY: "true", CACHE_MEMORY_MB: "256" };
  const service = cleanup.use(await startService({ env }));
  const request = (path: string, address = "192.0.2.1") =>
    get(service.origin, path, { "x-forwarded-for": address });
  let made = 0;
  /**
   * Made anew, though everything in it is cached: each template is a response
   * of its own.
   */
  const anew = (path: string) =>
    request(`${path}&linkTemplate=/${made++}/%7Bslug%7D`);
  const warm = (path: string) => untilAnswered(service, service.origin + path);
  const neighborsOf = (slug: number) => anew(itemPath({ ...NEIGHBORS, slug }));

  const pages = ["includeContent", "includeHtml"]
    .map((include) => ({ path: listPath({ limit: 100, [include]: true }) }));
  for (const { path } of pages) await warm(path);
  const rows = await sample(20, pages, async ({ path }) => {
    // A body is compressed after it is sent.
    await pause(300);
    return (await anew(path)).ms;
  });
  const [content = NaN, html = NaN] = rows.map(({ times }) => median(times));

  await warm(itemPath({ ...NEIGHBORS, slug: 7 }));
  const costOf = async (send: (n: number) => Promise<unknown>) => {
    for (let n = 0; n < 500; n++) await send(n);
    const beforeMs = await processorMs(service);
    for (let n = 0; n < 1_000; n++) await send(n % 500);
    return (await processorMs(service) - beforeMs) / 1_000;
  };
  const byPathMs = await costOf((n) =>
    anew(itemPath({ path: `many/${n}.md` }))
  );
  await double.call("resetCounts");
  const aroundMs = await costOf(neighborsOf);
  // The check of the branch is no part of a request: it is done once a minute.
  const { commit: _, ...requests } = await double.call("counts") as Record<
    string,
    number
  >;
  const upstream = Object.values(requests).reduce(
    (sum, count) => sum + count,
    0,
  );

  const hits: number[] = [];
  let isDone = false;
  const reading = (async () => {
    for (; !isDone; await pause(5)) {
      hits.push(
        (await request(
          listPath({ collection: "many", limit: 10 }),
          "192.0.2.2",
        )).ms,
      );
    }
  })();
  const lines: string[][] = [];
  for (const name of Object.keys(HOSTILE)) {
    const answer = await request(
      itemPath({ path: `hostile/${name}.md`, includeHtml: true }),
    );
    const { htmlError } = json<ContentBody>(answer);
    const outcome = htmlError?.message ?? `status ${answer.status}`;
    lines.push([name, number(answer.ms), outcome]);
  }
  isDone = true;
  await reading;

  return {
    conditions: [
      `A page of 100 posts takes ${number(html)} ms as HTML, ${
        number(content)
      } ms with content`,
      `A post takes ${number(aroundMs)} ms with neighbors, ${
        number(byPathMs)
      } ms by path`,
      `The slowest of ${hits.length} hits took ${number(Math.max(...hits))} ms`,
    ],
    goals: [
      atMost(
        "100 posts of 20 kB as HTML, of the time with content",
        1.3,
        html / content,
      ),
      atMost(
        "a post with neighbors, of the processor time by path",
        5,
        aroundMs / byPathMs,
      ),
      atMost(
        "requests to the source of 1,500 posts with neighbors",
        0,
        upstream,
      ),
      atMost(
        "another client's hits while hostile files are rendered, p99, ms",
        100,
        p99(hits),
      ),
    ],
    parts: [table(["hostile file of 1 MiB", "ms", "answer"], lines)],
  };
}

if (import.meta.main) {
  await runBench({ title: "Markdown", section: "bench:markdown" }, measure);
}
