// Fresh's part of a request: it turns what routes throw into problems, since Fresh would answer them in its own way.

import type { Middleware } from "fresh";
import { problemResponse } from "./problems.ts";
import type { State } from "./state.ts";

/** Answers errors as problems. */
export const problems: Middleware<State> = async (ctx) => {
  const { context } = ctx.state;
  context.route = ctx.route ?? context.route;
  try {
    // `next()` may throw before it returns a promise.
    return await ctx.next();
  } catch (error) {
    return problemResponse(error, ctx.state);
  }
};
