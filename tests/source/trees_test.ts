// Tree answers, and the fields of answers that the service relies on, against GitHub's own description of its REST API:
// `deno check` fails when a field is not there or may be something else, the tests when an answer as described is refused.

import type { components } from "@octokit/openapi-types";
import { assert, assertEquals } from "@std/assert";
import type { z } from "zod";
import { CollectionsError } from "../../lib/errors.ts";
import { repositoryAnswer } from "../../lib/source/github/refs.ts";
import { parseFolder, parseInWorker, parseTree } from "../../lib/source/github/trees.ts";
import { serveRepository } from "../github/served_repository.ts";
import { TestClock } from "../test_clock.ts";
import { openGitHub, uncharged } from "./open_github.ts";

type Schemas = components["schemas"];
type RepositoryFields = z.input<typeof repositoryAnswer>;

const id = "44b4fc6d56897b048c772eb4087f854f46256132";
const clock = new TestClock(0);

function encode(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** A recursive answer of so many files, out of order. */
function answer(files: number, more: Record<string, unknown> = {}): Uint8Array<ArrayBuffer> {
  const tree = Array.from({ length: files }, (_, index) => ({
    path: `posts/${index * 7919 % files} ü.md`,
    mode: "100644",
    type: "blob",
    sha: index.toString(16).padStart(40, "0"),
    size: index,
  }));
  return encode({ tree, truncated: false, ...more });
}

const inWorker = (bytes: Uint8Array<ArrayBuffer>) => parseInWorker(bytes, clock);

/** Does some work while the process's workers are of another class. */
async function withWorkers<T>(other: unknown, work: () => Promise<T>): Promise<T> {
  const { Worker } = globalThis;
  globalThis.Worker = other as typeof Worker;
  try {
    return await work();
  } finally {
    globalThis.Worker = Worker;
  }
}

async function failureOf(parsed: Promise<unknown>): Promise<string> {
  const error = await parsed.then(() => null, (error) => error);
  assert(error instanceof CollectionsError && error.code === "source-failed");
  return error.message;
}

Deno.test("a repository and a tree are taken as GitHub describes them", () => {
  const repository: Required<Pick<Schemas["full-repository"], keyof RepositoryFields>> = {
    private: false,
    visibility: "public",
    full_name: "octocat/Hello-World",
    default_branch: "main",
  };
  const fields: RepositoryFields = repository;
  assertEquals(repositoryAnswer.parse(fields), repository);

  const tree = [
    { path: "file.rb", mode: "100644", type: "blob", sha: id, size: 30 },
    { path: "docs", mode: "040000", type: "tree", sha: id },
  ];
  const answer = { sha: id, truncated: false, tree } satisfies Schemas["git-tree"];
  assertEquals(parseTree(encode(answer)), [
    { name: "file.rb", kind: "file", id, size: 30 },
    { name: "docs", kind: "folder", id, size: 0 },
  ]);
});

Deno.test("parseFolder() counts the files whose names are not UTF-8, and lists the others", async () => {
  const file = (path: string) => ({ path, mode: "100644", type: "blob", sha: id, size: 1 });
  const tree = [file("a.md"), file("k\uFFFDln.md"), file("\uFFFD/b.md"), file(".\uFFFD")];
  const files = (await parseFolder(encode({ sha: id, truncated: false, tree })))?.files;
  assertEquals([files?.length, files?.pathAt(0), files?.omitted], [1, "a.md", 2]);
});

Deno.test("parseInWorker() gives what parseFolder() gives, failures too, and takes the bytes", async () => {
  const bytes = answer(20_000);
  const expected = await parseFolder(bytes);
  const folder = await inWorker(bytes);
  assertEquals(folder?.files.bytes, expected?.files.bytes);
  assertEquals([folder?.files.length, bytes.length], [20_000, 0]);
  assertEquals(await inWorker(answer(1, { truncated: true })), null);

  for (const bytes of [answer(1, { tree: [{ path: ".." }] }), new TextEncoder().encode("[")]) {
    const here = await failureOf(parseFolder(bytes));
    assertEquals(await failureOf(inWorker(bytes)), here);
  }
});

/** A worker that starts or not, and fails to take bytes. */
function workerThat(act: "starts" | "fails" | "hangs") {
  return class {
    onmessage?: (event: MessageEvent) => void;
    onerror?: (event: ErrorEvent) => void;
    constructor() {
      if (act === "starts") queueMicrotask(() => this.onmessage?.(new MessageEvent("message")));
      if (act === "fails") queueMicrotask(() => this.postMessage());
    }
    postMessage = () => this.onerror?.(new ErrorEvent("error", { cancelable: true }));
    terminate() {}
  };
}

Deno.test("parseInWorker() parses here where no worker starts in 5 s, and fails where one ends", async () => {
  const parse = (workers: unknown) => withWorkers(workers, () => inWorker(answer(3)));
  for (const workers of [null, workerThat("fails"), workerThat("hangs")]) {
    const parsing = parse(workers);
    clock.advance(5_000);
    assertEquals((await parsing)?.files.length, 3);
  }
  await failureOf(parse(workerThat("starts")));
});

Deno.test("answers over 1 MiB are parsed one at a time, each within its memory until it is", async () => {
  await using served = await serveRepository({ "a.md": "" }, { now: clock.now });
  const source = openGitHub(served.gh, { clock });
  const snapshot = await source.resolve({ owner: "octo", repo: "site", branch: null }, uncharged);
  served.gh.intercept = () => new Response(answer(20_000));
  let [running, most] = [0, 0];
  const reserved: number[] = [];
  const counted = class extends Worker {
    constructor(...parameters: ConstructorParameters<typeof Worker>) {
      super(...parameters);
      most = Math.max(most, ++running);
      reserved.push(source["host"].client["bodies"]["medium"].bytes);
    }
    override terminate() {
      running--;
      super.terminate();
    }
  };
  await withWorkers(counted, async () => {
    const found = await Promise.all([1, 2, 3].map(() => source.files(snapshot, id, uncharged)));
    assertEquals(found.map((files) => files?.length), [20_000, 20_000, 20_000]);
  });
  assertEquals([most, reserved.map((bytes) => bytes >= 8 << 20)], [1, [true, true, true]]);
  assertEquals(source["host"].client["bodies"]["medium"].bytes, 0);
});
