// What the soak's clients ask for, by chance: what is asked all the time, what nobody asked before, and what is wrong.

import { COLLECTIONS, filePath, random, type TrueRepository } from "./soak_truth.ts";

/** What a right answer to a request shows. */
export type Expected =
  | { readonly kind: "list"; readonly prefix: string; readonly query: ListQuery }
  | { readonly kind: "item" | "raw"; readonly path: string }
  | { readonly kind: "problem"; readonly status: number; readonly code: string };

/** How a list is to be cut and ordered. */
export interface ListQuery {
  readonly page: number;
  readonly limit: number;
  readonly content: boolean;
  readonly sorted: boolean;
  readonly filtered: boolean;
}

/** One request. */
export interface SoakRequest {
  readonly path: string;
  readonly method: string;
  readonly expected: Expected;
  /** Whether it needs the source or what the source said. */
  readonly needsSource: boolean;
  /** Null where the answer is a problem in any state. */
  readonly repository: TrueRepository | null;
}

/** A repository under the name by which it is asked for. */
export interface NamedRepository {
  readonly owner: string;
  readonly repo: string;
  readonly repository: TrueRepository;
}

/** What may be asked for. */
export interface Choices {
  readonly hot: readonly NamedRepository[];
  readonly cold: readonly NamedRepository[];
  /** Branches of the cold repositories, which do not move. */
  readonly branches: readonly string[];
}

const LIST = "/api/list-collection-items?";
const ITEM = "/api/get-item-content?";
const NAMED = "owner=octo&repo=site&collection=c0";
const REPEATED_LIMIT = 10;

const BAD: readonly (readonly [method: string, path: string, status: number, code: string])[] = [
  ...[
    LIST,
    `${LIST}owner=octo`,
    `${LIST}${NAMED}&page=0`,
    `${LIST}${NAMED}&limit=1001`,
    `${LIST}${NAMED}&limit=101&includeContent=true`,
    `${LIST}${NAMED}&owner=octo`,
    `${LIST}${NAMED}&branch=a..b`,
    `${LIST}${NAMED}&sort=nothing`,
    `${LIST}${NAMED}&filter[x]=y`,
    `${LIST}owner=octo&repo=site&collection=..%2F..%2Fetc`,
    `${LIST}owner=octo&repo=site&collection=%FF`,
    `${LIST}owner=octo&repo=site&collection=${"a".repeat(1025)}`,
    `${ITEM}owner=octo&repo=site&path=content%2F..%2F..%2Fx`,
    `${ITEM}owner=octo&repo=site&path=a%00b`,
    `${ITEM}owner=octo&repo=site&path=a&format=xml`,
  ].map((path) => ["GET", path, 400, "invalid-parameters"] as const),
  ["GET", "/api/nothing", 404, "route-not-found"],
  ["GET", "/%2e%2e%2fetc%2fpasswd", 404, "route-not-found"],
  ["POST", `${LIST}${NAMED}`, 405, "method-not-allowed"],
  ["DELETE", `${ITEM}owner=octo`, 405, "method-not-allowed"],
];

/** A request, chosen by chance. */
export function chooseRequest(choices: Choices): SoakRequest {
  const dice = random(100);
  if (dice < 10) return bad();
  if (dice < 20) return unknown(choices);
  const isCold = dice < 35;
  const named = isCold ? pick(choices.cold) : pick(choices.hot);
  const branch = isCold && random(2) === 0 ? pick(choices.branches) : null;
  const method = random(10) === 0 ? "HEAD" : "GET";
  const about = { ...named, ...(branch === null ? {} : { branch }) };
  const request = random(3) === 0 ? item(about) : list(about);
  return { ...request, method, needsSource: true, repository: named.repository };
}

type About = { readonly owner: string; readonly repo: string; readonly branch?: string };

function list(about: About): Pick<SoakRequest, "path" | "expected"> {
  const collection = random(COLLECTIONS + 3);
  // The same page again and again, or one of very many.
  const isRepeated = random(2) === 0;
  const content = random(4) === 0;
  const query: ListQuery = {
    page: isRepeated ? 1 : 1 + random(4),
    limit: isRepeated ? REPEATED_LIMIT : 1 + random(content ? 30 : 200),
    content,
    sorted: random(5) === 0,
    filtered: random(6) === 0,
  };
  const folder = collection < COLLECTIONS ? `content/c${collection}` : "content";
  const name = random(2) === 0 ? folder : folder.replace(/^content\//, "");
  const asked = new URLSearchParams({ ...namesOf(about), collection: name });
  if (query.page > 1) asked.set("page", `${query.page}`);
  asked.set("limit", `${query.limit}`);
  if (query.content) asked.set("includeContent", "true");
  if (query.sorted) asked.set("sort", "-frontMatter.order");
  if (query.filtered) asked.set("filter[frontMatter.tags]", "deno");
  return { path: LIST + asked, expected: { kind: "list", prefix: `${folder}/`, query } };
}

function item(about: About): Pick<SoakRequest, "path" | "expected"> {
  // The files that come and go are left to the lists.
  const path = filePath(random(COLLECTIONS), random(15));
  const asked = new URLSearchParams({ ...namesOf(about), path });
  const kind = random(2) === 0 ? "raw" : "item";
  if (kind === "raw") asked.set("format", "raw");
  return { path: ITEM + asked, expected: { kind, path } };
}

function bad(): SoakRequest {
  const [method, path, status, code] = pick(BAD);
  const expected = { kind: "problem", status, code } as const;
  return { path, method, expected, needsSource: false, repository: null };
}

function unknown({ hot }: Choices): SoakRequest {
  const { owner, repo } = pick(hot);
  const number = random(1_000);
  const known = `owner=${owner}&repo=${repo}`;
  const [path, code] = pick(
    [
      [`${LIST}owner=ghost${number}&repo=none&collection=posts`, "repository-not-found"],
      [`${LIST}${known}&collection=c0&branch=none-${number}`, "branch-not-found"],
      [`${LIST}${known}&collection=none-${number}`, "collection-not-found"],
      [`${ITEM}${known}&path=none-${number}.md`, "item-not-found"],
    ] as const,
  );
  const expected = { kind: "problem", status: 404, code } as const;
  return { path, method: "GET", expected, needsSource: true, repository: null };
}

function namesOf({ owner, repo, branch }: About): Record<string, string> {
  return { owner, repo, ...(branch === undefined ? {} : { branch }) };
}

function pick<T>(values: readonly T[]): T {
  return values[random(values.length)]!;
}
