// Hostile requests, with parameters that are good often enough to reach the
// source, and a repository of a hostile author. The same seed gives the same
// requests. What RFC 9112 forbids is marked: a server may refuse it unread.

import type { GitContent } from "../tests/github/git_repository.ts";

const words = (text: string) => text.split(" ");
const escaped = (text: string) => encodeURIComponent(text.toWellFormed());
/** The text as it is, but for what would end the request line. */
const passable = (text: string) => text.replaceAll(/[^\x21-\x7e]/gu, escaped);

/** A folder 150 levels deep, which may take a request a level. */
const DEEP = "d/".repeat(150);

const ALIASES = [..."abcdefghi"].map((name, index) => {
  return `${"bcdefghij"[index]}: &${"bcdefghij"[index]} [${
    `*${name},`.repeat(9)
  }]\n`;
}).join("");

const FILE_NAMES =
  'a.md|with space.md|it\'s "quoted"; filename=b.md|100%.md|%2e%2e%2fx.md|back\\slash.md|' +
  "ü 💥 \u202e.md|new\nline.md|?a=b&c#d.md|<script>.html|__proto__";

/**
 * The files of a hostile author, by path: names and contents that trouble
 * parsers, headers and paths.
 */
export const HOSTILE_FILES: Readonly<Record<string, GitContent>> = {
  ...Object.fromEntries(
    FILE_NAMES.split("|").map((name) => [`posts/${name}`, "# <b>A</b>"]),
  ),
  "posts/constructor.md": "---\n__proto__: { a: 1 }\nconstructor: 2\n---\n",
  "posts/aliases.md": `---\na: &a [x,x,x,x,x,x,x,x,x]\n${ALIASES}---\n`,
  "posts/nested.md": `---\na: ${"[".repeat(10_000)}\n---\n`,
  "posts/nested-toml.md": `+++\na = ${"[".repeat(10_000)}\n+++\n`,
  "posts/open.md": `---\n${"- ".repeat(2_000)}`,
  "posts/link.md": { symlink: "../../../etc/passwd" },
  "posts/module": { submodule: "1".repeat(40) },
  [`${DEEP}deep.md`]: "# Deep\n",
  "%2e%2e/d.md": "# J\n",
  "content/ü b/c.md": "# K\n",
};

/**
 * A request as its bytes go out, but for `Host`. The HTTP server may refuse
 * some before the service sees them.
 */
export interface HostileRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly mayRefuse: boolean;
}

type Values = Readonly<Record<string, readonly string[]>>;
const GOOD: Values = {
  owner: ["octo"],
  repo: ["odd"],
  collection: ["posts", "posts", "content/ü b", "%2e%2e", DEEP, "/", "ü b"],
  path: Object.keys(HOSTILE_FILES),
};
const BOOLEANS = words(
  "includeContent includeFrontMatter includeHtml includeNeighbors recursive",
);
const BAD: Values = {
  owner: [
    "-a",
    "a".repeat(40),
    "octo/odd",
    "..",
    "octo%",
    "local",
    "__proto__",
    "o\u0000",
  ],
  repo: [
    ".",
    "..",
    "odd.git",
    "odd/../..",
    "a".repeat(101),
    "od d",
    "constructor",
    "odd?x#y",
  ],
  branch: words(
    "refs/pull/1/head refs/heads/main a..b a~1 a^{commit} a:b @{u} @ a.lock /a a/ a//b -a .a a\\b a* HEAD " +
      "heads/main main%00 main% deadbeef ü 💥 main?x=1 main#x a/../../../user 1/git/trees %2e%2e/x",
  ),
  collection: words(
    "posts/.. ../posts posts//a %00 posts\\.. posts/link.md " +
      "p".repeat(1_025),
  ),
  path: words(
    "posts/../posts/a.md /posts/a.md posts/ posts/link.md/x posts/module/x",
  ),
  slug: ["a", "link", "__proto__", "..", "with space", "*", "s".repeat(1_025)],
  page: words("0 -1 01 1e3 0x1 1.0 999999999 1000000000 NaN Infinity １ 1 9"),
  limit: words("0 101 1000 1001 -0 1_000 1"),
  ...Object.fromEntries(
    BOOLEANS.map((name) => [name, words("true true 0 1 2 TRUE yes []")]),
  ),
  linkTemplate: [
    "/{slug}",
    "javascript:{slug}",
    "{".repeat(1_000),
    '/"><script>{slug}',
  ],
  fields: [
    "slug,size",
    "frontMatter.__proto__",
    "html",
    ",".repeat(500),
    "path,".repeat(300),
  ],
  facets: [
    "frontMatter.a",
    "frontMatter.constructor,size",
    "path",
    "a,b,c,d,e,f",
  ],
  format: ["raw", "raw", "RAW", "html", "json\u0000"],
  sort: [
    ...[
      "-path,-path",
      "frontMatter.__proto__",
      "-frontMatter.constructor",
      ",".repeat(500),
    ],
    ...[`frontMatter.${"a.".repeat(2_000)}`, "name,size,path,-name"],
  ],
  "filter[path]": [
    "**/".repeat(300) + "x",
    "*a".repeat(200),
    "[",
    "{a,b",
    "\\",
    "!**",
    "**",
  ],
  "filter[name]": [
    "*".repeat(1_000),
    "?".repeat(1_000),
    "*.md",
    "!*.md",
    "[!-~]*",
  ],
  "filter[frontMatter.__proto__]": ["1", "!1", ">2"],
  "filter[frontMatter.date][gte]": [
    "2025",
    "!",
    "",
    "2025-01-01",
    "9".repeat(1_000),
  ],
  "filter[frontMatter.a][exists]": ["true", "maybe"],
  "filter[": ["x"],
  ["__proto__"]: ["x"],
  constructor: ["x"],
};
const NAMES = ["repo", "branch", "collection", "path"];
const PIECES = [
  ...words(
    "octo odd main heads tags HEAD a.md .. . / // \\ ..\\ %2e %2f %5c %00 %0d%0a %25",
  ),
  ...words(
    "%252e%252e%252f %c0%ae%c0%af %e0%80%ae %ff %ed%a0%80 %u002e ü 💥 -1 NaN null",
  ),
  ...words(
    "+ & = ; ? # @ : * ~ ^ [ ] { } ' \" ` < > | ! $ ( ) , - 0 1 1e9 0x1 1000000000 true",
  ),
  ...[
    "\0",
    "\r\n",
    "\t",
    " ",
    "\x7f",
    "\u0085",
    "\u202e",
    "\ufeff",
    "\ud800",
    "\r\nX-Evil: 1",
  ],
  ...["undefined", "__proto__", "constructor", "refs/pull/1/head", "octo/odd"],
  ...["../../user", "http://127.0.0.1/", "%0d%0aX-Evil:%201", "%".repeat(20)],
  ...["a".repeat(300), "/".repeat(50), "A".repeat(8_000), "%41".repeat(5_000)],
];
const ENDPOINTS = words(
  "/api/list-collection-items /api/get-item-content /api/list-collection-changes",
);
const PLACES = words(
  "/ /api/health /api/health?ready /api/openapi.json /reference /client.js /client.ts /metrics /nowhere /api /api/ " +
    "//api/health /api/webhooks/github /problems/ /problems/source-failed /problems/__proto__ /assets/ " +
    "/assets/site.css /assets/x/app.js /assets/../main.ts /assets/%2e%2e%2fmain.ts /assets/..%5cmain.ts " +
    "/assets/%00 /vendor/dompurify.js /playground/../../deno.json /problems/%2e%2e/%2e%2e/deno.json " +
    "/%2e%2e/%2e%2e/etc/passwd /api/list-collection-items/ /API/HEALTH /.git/config /data/kv /main.ts",
);
const METHODS = words(
  "POST PUT DELETE PATCH OPTIONS HEAD TRACE PROPFIND get FOO",
);
const HEADERS: Values = {
  "Accept": ["*/*,".repeat(1_000)],
  "Accept-Encoding": [
    "gzip",
    "gzip;q=0, *;q=NaN",
    "*;q=0",
    "gzip,".repeat(1_000),
  ],
  "Content-Length": ["0"],
  "Cookie": ["a=b;".repeat(1_000)],
  "Host": ["evil.test", "a:b:c@[::"],
  "If-Modified-Since": ["yesterday"],
  "If-None-Match": ['"1",'.repeat(10_000), `W/"${"a".repeat(5_000)}`, "*"],
  "Origin": ["null"],
  "Range": ["bytes=0-,".repeat(200)],
  "X-Forwarded-For": ["1.2.3.4, ".repeat(500) + "::1", "__proto__"],
  "X-Forwarded-Host": ['evil.test/"><script>'],
  "X-Forwarded-Proto": ["javascript"],
  "X-Request-Id": ["a".repeat(5_000)],
};
const REFUSED: readonly Partial<HostileRequest>[] = [
  ...[
    "/api/health\0",
    "/api/he alth",
    "http://evil.test:99999999/",
    `/${"a".repeat(70_000)}`,
  ]
    .map((target) => ({ target })),
  { method: "G\0T" },
  { headers: [["X-A", "a\0b"]] },
  { headers: [["X A", "b"]] },
  { headers: [["Transfer-Encoding", "chunked"], ["Content-Length", "5"]] },
  { headers: Array.from({ length: 300 }, (_, index) => [`X-${index}`, "1"]) },
  { headers: [["X-Long", "a".repeat(80_000)]] },
];
/** Heads of more than this may be refused. */
const MOST_BYTES = 60_000;
/** Characters of a request target, by RFC 3986. */
const TARGET = /^[\w\-.~:/?#[\]@!$&'()*+,;=%]*$/;

/** Makes `count` requests; `seed` is any integer. */
export function* hostileRequests(
  { seed, count }: { seed: number; count: number },
): Generator<HostileRequest> {
  let state = seed;
  /**
   * A number from 0 up to, and without, `below` (a linear congruential
   * generator; its high bits are used).
   */
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
  const one = <T>(values: readonly T[]): T => values[random(values.length)]!;
  const times = (most: number, make: () => string) =>
    Array.from({ length: random(most + 1) }, make);
  const soup = () => times(5, () => one(PIECES)).join("");
  const escapes = [
    escaped,
    escaped,
    (text: string) => escaped(escaped(text)),
    passable,
  ];
  const hostileField = () => {
    const name = one(random(3) === 0 ? NAMES : Object.keys(BAD));
    const values = [
      ...BAD[name]!,
      ...Object.hasOwn(GOOD, name) ? GOOD[name]! : [],
    ];
    // A number makes it a name without earlier requests.
    const tail = NAMES.includes(name) && random(3) === 0
      ? String(random(10_000))
      : "";
    return `${escaped(name)}=${
      one(escapes)((random(3) === 0 ? soup() : one(values)) + tail)
    }`;
  };
  const query = () => {
    const replaced = times(random(4) === 0 ? 4 : 1, hostileField);
    const names = replaced.map((text) => text.split("=")[0]);
    const good = Object.keys(GOOD).filter((name) =>
      !names.includes(name) || random(10) === 0
    );
    const junk = () => one([`x${random(9_999)}`, "page=1", "&"]);
    const many = times(random(200) === 0 ? 8_000 : 0, junk);
    const fields = good.map((name) => `${name}=${escaped(one(GOOD[name]!))}`);
    return [...fields, ...replaced, ...many].join("&");
  };
  for (let made = 0; made < count; made++) {
    if (random(40) === 0) {
      yield {
        method: "GET",
        target: "/",
        headers: [],
        ...one(REFUSED),
        mayRefuse: true,
      };
      continue;
    }
    const place = () => one(PLACES) + (random(3) === 0 ? passable(soup()) : "");
    const target = random(6) === 0 ? place() : `${one(ENDPOINTS)}?${query()}`;
    const method = random(25) === 0 ? one(METHODS) : "GET";
    const [name, values] = one(Object.entries(HEADERS));
    const headers = random(5) === 0 ? [[name, one(values)] as const] : [];
    const length = target.length + (headers[0]?.[1].length ?? 0);
    yield {
      method,
      target,
      headers,
      mayRefuse: !TARGET.test(target) || length > MOST_BYTES,
    };
  }
}

const REPOSITORY =
  /^(?:\/repos\/[A-Za-z0-9][A-Za-z0-9_-]{0,38}\/[A-Za-z0-9._-]{1,100}|\/repositories\/\d+)/;
const OF_REPOSITORY =
  /^(?:$|\/(?:commits|git\/trees|git\/blobs)\/([^/?#]+)(?:\?recursive=1)?$)/;
const RAW = /^\/raw\/octo\/odd\/[0-9a-f]{40}\/([^?#]+)$/i;

/**
 * Whether the service may request this path of its source: every value in one
 * escaped segment. GraphQL has one path.
 */
export function isEscaped(path: string): boolean {
  const match = OF_REPOSITORY.exec(path.replace(REPOSITORY, "")) ??
    RAW.exec(path);
  return match !== null && (match[1] ?? "a").split("/").every((part) => {
    try {
      // No control character of ASCII, and no segment that a URL would leave
      // out.
      return encodeURIComponent(decodeURIComponent(part)) === part &&
        !/^\.{0,2}$|%[01]|%7F/.test(part);
    } catch {
      return false;
    }
  });
}
