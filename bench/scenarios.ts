// What is measured under load: which requests, and with which servers the service is compared.

import { filesOf, OWNER } from "./repositories.ts";

/** The servers: the service at two log levels, and those that send what it sends. */
export type Server = "bare" | "skeleton" | "service" | "service, info" | "hono";

/** One kind of request. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  /** Whether the caller already has what he asks for, and says so. */
  readonly conditional: boolean;
  readonly servers: readonly Server[];
}

/** How many keys the mix has, by kind; as many as the cache holds under the default settings. */
const MIX = { pages: 400, items: 600 };
const BROWSER_CODINGS = "gzip, deflate, br, zstd";

const listOf = (parameters: string) =>
  `/api/list-collection-items?owner=${OWNER}&repo=site&collection=posts${parameters}`;
const itemOf = (path: string) =>
  `/api/get-item-content?owner=${OWNER}&repo=site&path=${encodeURIComponent(path)}`;

/** All scenarios, or those that are named. @throws {Error} on an unknown name. */
export function chooseScenarios(names: readonly string[]): Scenario[] {
  const all = scenarios();
  return names.length === 0 ? all : names.map((name) => {
    const chosen = all.find((scenario) => scenario.name === name);
    if (chosen !== undefined) return chosen;
    throw new Error(
      `Cannot measure "${name}": there are ${all.map(({ name }) => name).join(", ")}`,
    );
  });
}

function scenarios(): Scenario[] {
  const ours: Server[] = ["service", "service, info"];
  const plain = { headers: {}, status: 200, conditional: false };
  const items = filesOf("site").slice(0, MIX.items).map(([path]) => itemOf(path));
  return [
    {
      ...plain,
      name: "list",
      title: "list hit, plain",
      paths: [listOf("")],
      servers: ["bare", "skeleton", ...ours, "hono"],
    },
    {
      ...plain,
      name: "gzip",
      title: "list hit, gzip",
      paths: [listOf("")],
      headers: { "accept-encoding": BROWSER_CODINGS },
      servers: ["bare", "skeleton", ...ours],
    },
    {
      ...plain,
      name: "304",
      title: "list hit, 304",
      paths: [listOf("")],
      status: 304,
      conditional: true,
      servers: ["bare", "skeleton", ...ours, "hono"],
    },
    {
      ...plain,
      name: "content",
      title: "content hit",
      paths: items.slice(0, 1),
      servers: ["bare", ...ours, "hono"],
    },
    {
      ...plain,
      name: "1000-items",
      title: "page of 1,000 items",
      paths: [listOf("&limit=1000")],
      servers: ["bare", ...ours, "hono"],
    },
    {
      ...plain,
      name: "mix",
      title: "mix of 1,000 keys",
      paths: shuffled([
        ...Array.from({ length: MIX.pages }, (_, index) => listOf(`&page=${index + 1}`)),
        ...items,
      ]),
      servers: ["bare", "skeleton", ...ours, "hono"],
    },
    {
      ...plain,
      name: "400",
      title: "error, 400",
      paths: [listOf("&limit=0")],
      status: 400,
      servers: ["bare", ...ours],
    },
    {
      ...plain,
      name: "404",
      title: "error, 404 (no such file)",
      paths: [itemOf("posts/none.md")],
      status: 404,
      servers: ["bare", ...ours],
    },
  ];
}

/** The same order in every run. */
function shuffled<T>(values: readonly T[]): T[] {
  const result = [...values];
  let state = 1;
  for (let i = result.length - 1; i > 0; i--) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    const j = state % (i + 1);
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}
