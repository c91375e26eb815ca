// The query of a list request: its fixed parameters by their schemas, its filters by theirs.

import { isFilterParameter, parseFilters } from "../collections/filter_items.ts";
import type { ParameterError } from "../errors.ts";
import { LIMITS, type ListParameters, listParameters } from "./parameters.ts";
import { parseQuery, readParameters, UNDECODABLE } from "./query.ts";

/** The parameters of a list request. @throws {CollectionsError} invalid-parameters, naming every bad one. */
export function parseListQuery(query: string): ListParameters {
  const given = readParameters(query, isFilterParameter);
  const errors: ParameterError[] = given.filter(([, value]) => value === null)
    .map(([parameter]) => ({ parameter, message: UNDECODABLE }));
  const filter = given.filter((field): field is [string, string] =>
    field[1] !== null && field[1] !== ""
  );
  errors.push(...parseFilters(filter).errors);
  const parameters = parseQuery(
    query,
    listParameters,
    ({ limit, includeContent }) =>
      includeContent === true && limit !== undefined && limit > LIMITS.contentPage
        ? [{
          parameter: "limit",
          message: `must be at most ${LIMITS.contentPage} when content is included`,
        }, ...errors]
        : errors,
  );
  return filter.length === 0 ? parameters : { ...parameters, filter };
}
