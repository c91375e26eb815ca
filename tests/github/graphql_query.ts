// A small, tolerant reader of GraphQL queries: one `query` with variables, aliases, arguments,
// inline and named fragments. No directives, no types. https://spec.graphql.org/October2021/

import { UnexpectedRequest } from "./github_reply.ts";
import { tokenize } from "./graphql_tokens.ts";

/** A field that a query asks for; `on` is the type that its fragment names, null outside one. */
export interface QueryField {
  alias: string;
  name: string;
  on: string | null;
  args: Record<string, unknown>;
  fields: QueryField[];
}

type Spread = { spread: string };
type Selection = QueryField | Spread;

/** The fields that a query asks for. @throws {UnexpectedRequest} on what it cannot read. */
export function parseQuery(query: string, variables: Record<string, unknown>): QueryField[] {
  const parser = new Parser(tokenize(query), { ...variables });
  return parser.document();
}

class Parser {
  #tokens: string[];
  #at = 0;
  #variables: Record<string, unknown>;

  constructor(tokens: string[], variables: Record<string, unknown>) {
    this.#tokens = tokens;
    this.#variables = variables;
  }

  document(): QueryField[] {
    let query: Selection[] | null = null;
    const fragments = new Map<string, { on: string; selections: Selection[] }>();
    while (this.#at < this.#tokens.length) {
      if (this.#take("fragment")) {
        const name = this.#next();
        this.#expect("on");
        const on = this.#next();
        fragments.set(name, { on, selections: this.#selections(on) });
        continue;
      }
      if (query) throw new UnexpectedRequest("GraphQL with two operations");
      if (this.#take("query") && this.#peek() !== "{" && this.#peek() !== "(") this.#next();
      if (this.#take("(")) this.#declarations();
      query = this.#selections(null);
    }
    const expand = (selections: Selection[]): QueryField[] =>
      selections.flatMap((selection) => {
        if (!("spread" in selection)) {
          return [{ ...selection, fields: expand(selection.fields) }];
        }
        const fragment = fragments.get(selection.spread);
        if (!fragment) throw new UnexpectedRequest(`GraphQL fragment "${selection.spread}"`);
        return expand(fragment.selections);
      });
    return expand(query ?? []);
  }

  #declarations(): void {
    while (!this.#take(")")) {
      this.#expect("$");
      const name = this.#next();
      this.#expect(":");
      while (/^(\w+|[[\]!])$/.test(this.#peek())) this.#next();
      const value = this.#take("=") ? this.#value() : undefined;
      if (value !== undefined) this.#variables[name] ??= value;
    }
  }

  #selections(on: string | null): Selection[] {
    const selections: Selection[] = [];
    this.#expect("{");
    while (!this.#take("}")) {
      if (!this.#take("...")) selections.push(this.#field(on));
      else if (this.#take("on")) selections.push(...this.#selections(this.#next()));
      else selections.push({ spread: this.#next() });
    }
    return selections;
  }

  #field(on: string | null): QueryField {
    const alias = this.#name();
    const name = this.#take(":") ? this.#name() : alias;
    const args: Record<string, unknown> = {};
    if (this.#take("(")) {
      while (!this.#take(")")) {
        const key = this.#name();
        this.#expect(":");
        args[key] = this.#value();
      }
    }
    const fields = this.#peek() === "{" ? this.#selections(null) as QueryField[] : [];
    return { alias, name, on, args, fields };
  }

  #value(): unknown {
    const value = this.#next();
    if (value === "$") {
      const name = this.#next();
      if (!(name in this.#variables)) throw new UnexpectedRequest(`GraphQL variable "$${name}"`);
      return this.#variables[name];
    }
    if (/^(?:["\d-]|true$|false$|null$)/.test(value)) return JSON.parse(value);
    throw new UnexpectedRequest(`GraphQL value "${value}"`);
  }

  #peek(): string {
    return this.#tokens[this.#at] ?? "";
  }

  #next(): string {
    const next = this.#tokens[this.#at++];
    if (next === undefined) throw new UnexpectedRequest("GraphQL that breaks off");
    return next;
  }

  #name(): string {
    const name = this.#next();
    if (!/^\w+$/.test(name)) throw new UnexpectedRequest(`GraphQL name "${name}"`);
    return name;
  }

  #take(token: string): boolean {
    if (this.#peek() !== token) return false;
    this.#at++;
    return true;
  }

  #expect(token: string): void {
    const next = this.#next();
    if (next !== token) throw new UnexpectedRequest(`GraphQL "${next}" instead of "${token}"`);
  }
}
