// JSON Schema out of zod's: the bodies as components, the parameters of an operation in their order.

import { z } from "zod";

type JsonSchema = Record<string, unknown>;

const COMPONENTS = "#/components/schemas/";

/** Every body schema that has an id, as the document's components. */
export function bodySchemas(): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(z.globalRegistry, {
    uri: (id) => `${COMPONENTS}${id}`,
    // That zod's integers are safe ones is no bound that a reader wants to see.
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]),
  );
}

/** The parameters of an operation; all of them are in the query. */
export function operationParameters(schema: z.ZodObject): JsonSchema[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const { description, examples, ...rest } = parameterSchema(field as z.ZodType);
    const [example] = Array.isArray(examples) ? examples : [];
    return {
      name,
      in: "query",
      required: !(field as z.ZodType).safeParse(undefined).success,
      ...description === undefined ? {} : { description },
      schema: rest,
      ...example === undefined ? {} : { example },
    };
  });
}

/**
 * The schema of one parameter. It is text on the way, by a pattern; what that text means, its bounds and its default are
 * behind a pipe and come from `.meta()`.
 */
function parameterSchema(field: z.ZodType): JsonSchema {
  const { $schema: _, ...derived } = z.toJSONSchema(field, { io: "input" }) as JsonSchema;
  const schema: JsonSchema = { ...derived, ...field.meta() };
  if (schema["type"] !== "string") {
    for (const name of ["pattern", "enum"]) delete schema[name];
  }
  return schema;
}
