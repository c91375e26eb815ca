// Checks what the service sends to GitHub's REST API, and what the double
// answers, against GitHub's own OpenAPI description. Every double does so at
// its end, so every request of the suite is checked. The description has 13 MB;
// what is used of it is kept in a temporary file, since each test file is a
// process of its own.

import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { tmpdir } from "node:os";
import { REPOSITORY_PATH } from "./github_api.ts";

/** One request and its answer. */
export interface Exchange {
  readonly method: string;
  /** Path and query as they were sent. */
  readonly path: string;
  readonly accept: string | null;
  readonly status: number;
  readonly type: string | null;
  readonly body: Uint8Array<ArrayBuffer>;
}

type Content = Readonly<Record<string, { readonly schema: object }>>;
interface Operation {
  readonly description: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
  }[];
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
interface Description {
  readonly paths: Readonly<
    Record<string, { readonly [method in "get" | "post"]?: Operation }>
  >;
  readonly components: unknown;
}

const PACKAGE = new URL(
  "../../node_modules/@octokit/openapi/",
  import.meta.url,
);
const CREATES_TOKEN = "/app/installations/{installation_id}/access_tokens";
/** The described endpoints. */
const TEMPLATES = [
  "/repos/{owner}/{repo}",
  "/repos/{owner}/{repo}/commits/{ref}",
  "/repos/{owner}/{repo}/git/trees/{tree_sha}",
  "/repos/{owner}/{repo}/git/blobs/{file_sha}",
  "/users/{username}/installation",
  CREATES_TOKEN,
];
const methodOf = (template: string) =>
  template === CREATES_TOKEN ? "post" : "get";
/** A template with what stands for each of its parameters. */
const filled = (template: string) => template.replaceAll(/\{\w+\}/g, "[^/]+");

/** Statuses of any endpoint, which the description does not repeat at each. */
const ANYWHERE = /^(30[1247]|4(0[0139]|10|22|29|51)|5\d\d)$/;
/**
 * Endpoints of GitHub Apps that answer 404, which the description has at their
 * siblings alone.
 */
const ABSENT = ["/users/{username}/installation"];
const ERROR = { $ref: "github#/components/schemas/basic-error" };

let loaded: Promise<{ ajv: Ajv; paths: Description["paths"] }> | undefined;

/** What is against the description, a line each. */
export async function faultsOf(
  exchanges: Iterable<Exchange>,
): Promise<string[]> {
  const { ajv, paths } = await (loaded ??= load());
  return Array.from(exchanges).flatMap((exchange) => {
    const { pathname, searchParams } = new URL(
      exchange.path,
      "http://github.test",
    );
    const { method, path, status } = exchange;
    // A repository has a name or an id.
    const named = pathname.replace(
      REPOSITORY_PATH,
      (_, _name, _id, rest = "") => `/repos/octo/site${rest}`,
    );
    const template = TEMPLATES.find((template) =>
      new RegExp(`^${filled(template)}$`).test(named)
    ) ?? "";
    const verb = methodOf(template);
    const operation = paths[template]?.[verb];
    const fault = (text: string) => [`${method} ${path}, ${status}: ${text}`];
    if (operation === undefined || method !== verb.toUpperCase()) {
      return fault(
        "is not described",
      );
    }
    const queries = operation.parameters.filter((parameter) =>
      parameter.in === "query"
    );
    const unknown = [...searchParams.keys()].find((key) =>
      !queries.some((q) =>
        q.name === key
      )
    );
    if (unknown !== undefined) {
      return fault(
        `the parameter "${unknown}" is not described`,
      );
    }
    const success =
      (operation.responses[200] ?? operation.responses[201])?.content ?? {};
    const isJson = [null, "*/*", "application/vnd.github+json"].includes(
      exchange.accept,
    );
    const accept = isJson ? "application/json" : exchange.accept!;
    if (
      !(accept in success) && !operation.description.includes(`\`${accept}\``)
    ) {
      return fault(`the media type "${accept}" is not described`);
    }
    if (status === 304) return [];
    const described = operation.responses[status]?.content
      ?.["application/json"];
    const isKnown = ANYWHERE.test(`${status}`) ||
      status === 404 && ABSENT.includes(template);
    if (described === undefined && !isKnown) return fault("is not described");
    if (status === 200 && accept !== "application/json") return [];
    if (exchange.type !== "application/json; charset=utf-8") {
      return fault(
        `is ${exchange.type}`,
      );
    }
    const validate = ajv.compile(within(described?.schema ?? ERROR) as object);
    if (
      validate(JSON.parse(new TextDecoder().decode(exchange.body)))
    ) return [];
    return fault(ajv.errorsText(validate.errors));
  });
}

async function load() {
  const { version } = JSON.parse(
    await Deno.readTextFile(new URL("package.json", PACKAGE)),
  );
  const file = `${tmpdir()}/github-openapi-${version}-${TEMPLATES.length}.json`;
  const text = await Deno.readTextFile(file).catch(async () => {
    const text = JSON.stringify(await excerpt());
    const own = `${file}.${Deno.pid}`;
    await Deno.writeTextFile(own, text);
    await Deno.rename(own, file);
    return text;
  });
  // Ajv takes "nullable" beside "type" alone.
  const { paths, components }: Description = JSON.parse(text, (_key, value) => {
    if (!value?.nullable || "type" in value) return value;
    const { nullable: _nullable, ...schema } = value;
    return { anyOf: [schema, { type: "null" }] };
  });
  const ajv = new Ajv({ strict: false, allErrors: true });
  (addFormats as unknown as (ajv: Ajv) => void)(ajv);
  ajv.addSchema({ $id: "github", components });
  return { ajv, paths };
}

/** The described endpoints, and the components that they refer to. */
async function excerpt(): Promise<Description> {
  const whole = JSON.parse(
    await Deno.readTextFile(new URL("generated/api.github.com.json", PACKAGE)),
  );
  const components: Record<string, Record<string, unknown>> = {};
  const add = (value: unknown): void => {
    for (
      const [, kind, name] of JSON.stringify(value).matchAll(
        /"#\/components\/(\w+)\/([^"]+)"/g,
      )
    ) {
      if (kind === "examples" || components[kind!]?.[name!] !== undefined) {
        continue;
      }
      const component = whole.components[kind!][name!];
      (components[kind!] ??= {})[name!] = component;
      add(component);
    }
  };
  const resolved = (value: { $ref?: string }) =>
    value.$ref?.split("/").slice(1).reduce((at, key) => at[key], whole) ??
      value;
  add({ $ref: "#/components/schemas/basic-error" });
  const paths = Object.fromEntries(
    TEMPLATES.map((template) => {
      const method = methodOf(template);
      const { description, parameters, responses } =
        whole.paths[template][method];
      const operation = {
        description,
        parameters: parameters.map(resolved),
        responses: Object.fromEntries(
          Object.entries(responses).map((
            [status, response],
          ) => [status, resolved(response as object)]),
        ),
      };
      add(operation);
      return [template, { [method]: operation }];
    }),
  );
  return { paths, components };
}

/** A schema whose references lead into the added components. */
function within(schema: object): unknown {
  return JSON.parse(
    JSON.stringify(schema).replaceAll('"#/components/', '"github#/components/'),
  );
}
