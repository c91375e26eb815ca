// Cuts a GraphQL query into tokens; white space, commas and comments mean nothing in it.

import { UnexpectedRequest } from "./github_reply.ts";

const token =
  /[\s,\ufeff]+|#[^\n]*|("(?:[^"\\\n]|\\.)*"|\.\.\.|[_A-Za-z]\w*|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}()[\]:=!$])/gy;

/** The tokens of a query. @throws {UnexpectedRequest} on a character that begins none. */
export function tokenize(query: string): string[] {
  const tokens: string[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < query.length) {
    const at = token.lastIndex;
    const match = token.exec(query);
    if (!match) throw new UnexpectedRequest(`GraphQL near "${query.slice(at, at + 20)}"`);
    if (match[1] !== undefined) tokens.push(match[1]);
  }
  return tokens;
}
