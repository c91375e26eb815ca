// YAML or TOML as plain data. Each parser loads when the first text of its kind is read.

import type { PlainValue } from "./plain_data.ts";
import type { YamlLimits } from "./safe_yaml.ts";

/** Reads a text; the limits of YAML hold TOML, too. @throws {DataError} for what does not parse or is over a limit. */
export async function parseData(
  text: string,
  { format, ...limits }: YamlLimits & { readonly format: "yaml" | "toml" },
): Promise<PlainValue> {
  if (format === "toml") {
    const { parseToml } = await import("./safe_toml.ts");
    return parseToml(text, limits);
  }
  const { parseYaml } = await import("./safe_yaml.ts");
  return parseYaml(text, limits);
}
