// From a query string to checked parameters, every bad one named at once. Decoding is strict (WHATWG URL form encoding
// read without repair): what a browser would replace or drop is told to the caller instead.

import type { z } from "zod";
import { invalidParameters, type ParameterError } from "../errors.ts";

type Shape = Readonly<Record<string, z.ZodType>>;
type Output<S extends Shape> = { [K in keyof S]: z.infer<S[K]> };

/** What is wrong with a value that cannot be decoded. */
export const UNDECODABLE = "has an escape that is no UTF-8 text";

/** Fails like the schemas do, once all parameters that could be read are there. */
export type CrossCheck<T> = (values: Partial<T>) => ParameterError[];

/**
 * The parameters of a query string (without its `?`). Unknown ones are ignored; an empty optional one is left out.
 * @throws {CollectionsError} invalid-parameters.
 */
export function parseQuery<S extends Shape>(
  query: string,
  schema: z.ZodObject<S>,
  crossCheck: CrossCheck<Output<S>> = () => [],
): Output<S> {
  const { values, unreadable } = readFields(query, new Set(Object.keys(schema.shape)));
  const parsed: Record<string, unknown> = {};
  const errors: ParameterError[] = [];
  for (const [name, field] of Object.entries(schema.shape)) {
    const message = unreadable.get(name);
    if (message !== undefined) {
      errors.push({ parameter: name, message });
      continue;
    }
    const optional = field.safeParse(undefined);
    const given = values.get(name);
    if (given === undefined || given === "") {
      const message = given === "" ? "must not be empty" : "is required";
      if (optional.success) parsed[name] = optional.data;
      else errors.push({ parameter: name, message });
      continue;
    }
    const result = field.safeParse(given);
    if (result.success) parsed[name] = result.data;
    else errors.push({ parameter: name, message: result.error.issues[0]!.message });
  }
  errors.push(...crossCheck(parsed as Partial<Output<S>>));
  if (errors.length > 0) throw invalidParameters(errors);
  return parsed as Output<S>;
}

/** The values of known parameters by name, and why a parameter cannot be read. */
function readFields(query: string, known: ReadonlySet<string>) {
  const values = new Map<string, string>();
  const unreadable = new Map<string, string>();
  for (const [name, value] of readParameters(query, (name) => known.has(name))) {
    if (value === null) unreadable.set(name, UNDECODABLE);
    else if (values.has(name)) unreadable.set(name, "must be given once");
    else values.set(name, value);
  }
  return { values, unreadable };
}

/** The parameters of a query string that `wanted` names, in their order; undecodable ones are left to others. */
export function readParameters(
  query: string,
  wanted: (name: string) => boolean,
): [string, string | null][] {
  return query.split("&").flatMap((field): [string, string | null][] => {
    const equals = field.indexOf("=");
    const name = decode(equals < 0 ? field : field.slice(0, equals));
    if (name === null || !wanted(name)) return [];
    return [[name, equals < 0 ? "" : decode(field.slice(equals + 1))]];
  });
}

/** `+` is a space, a plus is `%2B`; null for a malformed escape or bytes that are not UTF-8. */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}
