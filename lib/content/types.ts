// Writes TypeScript declarations of schemas. Texts of the repository become
// only quoted literals. Names of interfaces are made of ASCII letters and
// digits.

import { decompose } from "./decompose.ts";
import type { Schema } from "./schema.ts";

/**
 * Returns one interface a collection and the interface `Collections`, which has
 * each collection's front matter by its name.
 */
export function typesOf(
  collections: readonly { name: string; schema?: Schema }[],
): string {
  const used = new Set(["Collections"]);
  const named = collections.map(({ name, schema = {} }) => {
    const base = identifierOf(name);
    let identifier = base;
    for (let n = 2; used.has(identifier); n++) identifier = `${base}${n}`;
    used.add(identifier);
    return { name, identifier, schema };
  });
  const interfaces = named.map(({ identifier, schema }) =>
    `export interface ${identifier} ${objectType(schema, "")}\n`
  );
  const map = named.map(({ name, identifier }) =>
    `  ${literal(name)}: ${identifier};\n`
  );
  return `${interfaces.join("\n")}\nexport interface Collections {\n${
    map.join("")
  }}\n`;
}

function identifierOf(name: string): string {
  const words = decompose(name).replace(/[\u0300-\u036f]/g, "")
    .match(/[A-Za-z0-9]+/g) ?? [];
  const joined = words.map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join("");
  return /^[A-Z]/.test(joined) ? joined : `Collection${joined}`;
}

/** U+2028 and U+2029 end lines in TypeScript but not in JSON. */
const literal = (value: string | number | boolean | null) =>
  JSON.stringify(value).replace(
    /[\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16)}`,
  );

function typeOf(schema: Schema, indent: string): string {
  if (schema.enum !== undefined) return schema.enum.map(literal).join(" | ");
  const types = [schema.type ?? []].flat().map((type) => {
    if (type === "integer") return "number";
    if (type === "object") return objectType(schema, indent);
    if (type !== "array") return type;
    const element = typeOf(schema.items ?? {}, indent);
    return /^\w+$/.test(element) ? `${element}[]` : `(${element})[]`;
  });
  return types.length === 0 ? "unknown" : types.join(" | ");
}

function objectType(
  { properties, required }: Schema,
  indent: string,
): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties ?? {}).map(([key, schema]) => {
    const mark = required?.includes(key) ? "" : "?";
    // A mapping without its own `toString` has the inherited one.
    const isInherited = mark !== "" && key in Object.prototype;
    const type = isInherited ? "unknown" : typeOf(schema, inner);
    return `${inner}${literal(key)}${mark}: ${type};\n`;
  });
  return lines.length === 0
    ? "{ [key: string]: unknown }"
    : `{\n${lines.join("")}${indent}}`;
}
