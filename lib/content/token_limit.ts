// Limits how many tokens the parser makes of a Markdown file. Most of the memory
// of rendering is for tokens and what is made of them: 150,000 take about
// 100 MiB. Ordinary text has 0.7 tokens a byte, and short words have up to 2.5.
// Tokens of attempts that fail count too.

// Types of remark-parse's settings.
import "remark-parse";
import type { Nodes, Root } from "mdast";
import type { Data, Processor } from "unified";
import { TimeLimitError } from "../thread/compute.ts";
import { nodesOf } from "./nodes.ts";

type Extension = NonNullable<Data["micromarkExtensions"]>[number];
type Constructs = NonNullable<Extension["text"]>;
type Construct = Extract<Constructs[string], { tokenize: unknown }>;
type Effects = Parameters<Construct["tokenize"]>[0];

let tokensLeft = Infinity;

function spendTokens(count: number) {
  tokensLeft -= count;
  if (tokensLeft >= 0) return;
  throw new TimeLimitError("The file takes too much memory");
}

/**
 * Returns the tree that `parse` makes with a parser that counts its tokens.
 * Each tag in raw HTML counts as a token.
 * @throws {TimeLimitError} if it takes more tokens than `max`.
 */
export function withTokens<T extends { readonly tree: Root }>(
  max: number,
  parse: () => T,
): T {
  tokensLeft = max;
  const parsed = parse();
  for (const node of nodesOf<Nodes>(parsed.tree)) {
    if (node.type === "html") spendTokens(node.value.split("<").length);
  }
  return parsed;
}

/** Has a parser of unified count its tokens. */
export function countTokens(this: Processor): void {
  const data = this.data();
  data.micromarkExtensions = [...data.micromarkExtensions ?? [], EXTENSION];
}

const IS_COUNTING = Symbol("counts tokens");

/**
 * micromark does not say when it makes a token. This construct matches nothing
 * and is tried before all others. It replaces the function that makes tokens.
 */
const counter: Construct = {
  // Without this, a run of plain text would end before each character.
  previous: () => false,
  partial: true,
  tokenize(effects: Effects & { [IS_COUNTING]?: true }, _ok, nok) {
    // A file may have 100,000 tokenizers, which would make a large set.
    if (!effects[IS_COUNTING]) {
      effects[IS_COUNTING] = true;
      const { enter } = effects;
      effects.enter = (...of) => {
        spendTokens(1);
        return enter(...of);
      };
    }
    return nok;
  },
};

/** The counter for each code of ASCII, line ends and tabs, and the others. */
const EVERYWHERE: Constructs = Object.fromEntries(
  [...Array.from({ length: 133 }, (_, n) => n - 5), "null"].map((
    code,
  ) => [code, counter]),
);
const EXTENSION: Extension = {
  document: EVERYWHERE,
  contentInitial: EVERYWHERE,
  flowInitial: EVERYWHERE,
  flow: EVERYWHERE,
  text: EVERYWHERE,
  string: EVERYWHERE,
};
