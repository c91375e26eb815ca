// YAML or TOML as plain data. Each parser is loaded when the first text of its format is read.

import type { PlainValue } from "./plain_data.ts";
import type { YamlLimits } from "./safe_yaml.ts";

/** Parses a text; the limits apply to both formats. @throws {DataError} for text that does not parse or is over a limit. */
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
