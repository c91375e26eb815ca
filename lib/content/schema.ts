// Describes front matter by JSON Schema 2020-12. A schema comes from the fields
// that a CMS declares or from the front matter of all items. The schemas use so
// few keywords that each becomes a TypeScript type.

import type { FieldBody } from "../api/contract.ts";
import { isPlainObject, type PlainValue } from "./plain_value.ts";
import { parseIsoDate } from "./sort.ts";

/** The keywords of the schemas. */
export interface Schema {
  readonly type?: string | readonly string[] | undefined;
  readonly format?: string | undefined;
  readonly enum?: readonly (string | number | boolean | null)[] | undefined;
  readonly items?: Schema | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly required?: readonly string[] | undefined;
}

const MAX_ENUM = 20;
const MAX_ENUM_CHARS = 64;
/** A text is one of few if each is there this often on average. */
const MIN_ENUM_USES = 3;
const MAX_KEY_CHARS = 256;
const DATE_FORMATS: readonly (readonly [format: string, RegExp])[] = [
  ["date", /^\d{4}-\d\d-\d\d$/],
  // RFC 3339 needs seconds and a zone.
  ["date-time", /^\S{10}T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/],
];

/** What is known of the values at one place of front matter. */
interface Shape {
  count: number;
  types: Map<string, number>;
  /** Distinct texts. Null if there are too many or one is too long. */
  texts: Set<string> | null;
  /** The format of all texts. Null if they have none in common. */
  format: string | null | undefined;
  /** The keys of mappings. The elements of lists are under null. */
  below: Map<string | null, Shape>;
}

const newShape = (): Shape => ({
  count: 0,
  types: new Map(),
  texts: new Set(),
  format: undefined,
  below: new Map(),
});

/**
 * Infers a schema. `room` counts how many more keys may be described. Keys
 * beyond it are allowed but not described.
 */
export function inferSchema(
  items: Iterable<PlainValue>,
  room: { keys: number },
): Schema {
  const root = newShape();
  for (const item of items) observe(root, item, room);
  return { ...toSchema(root), type: "object" };
}

/** Validators do not compile a schema with a lone surrogate in a key. */
const isDescribable = (key: string) =>
  key.length <= MAX_KEY_CHARS && key.isWellFormed();

function observe(shape: Shape, value: PlainValue, room: { keys: number }) {
  const type = value === null
    ? "null"
    : Array.isArray(value)
    ? "array"
    : Number.isInteger(value)
    ? "integer"
    : typeof value;
  shape.count++;
  shape.types.set(type, (shape.types.get(type) ?? 0) + 1);
  const observeBelow = (key: string | null, value: PlainValue) => {
    let below = shape.below.get(key);
    if (below === undefined) {
      if (room.keys === 0 || key !== null && !isDescribable(key)) return;
      room.keys--;
      shape.below.set(key, below = newShape());
    }
    observe(below, value, room);
  };
  if (typeof value === "string") {
    const format = DATE_FORMATS.find(([, pattern]) =>
      pattern.test(value) && parseIsoDate(value) !== null
    )?.[0] ?? null;
    shape.format = shape.format === undefined || shape.format === format
      ? format
      : null;
    shape.texts?.add(value);
    if (value.length > MAX_ENUM_CHARS || shape.texts?.size! > MAX_ENUM) {
      shape.texts = null;
    }
  } else if (Array.isArray(value)) {
    for (const one of value) observeBelow(null, one);
  } else if (isPlainObject(value)) {
    for (const [key, one] of Object.entries(value)) observeBelow(key, one);
  }
}

function toSchema({ types, texts, format, below }: Shape): Schema {
  const found = [...types.keys()].filter((type) =>
    type !== "integer" || !types.has("number")
  );
  const isChoice = texts !== null && texts.size > 0 && format === null &&
    found.every((type) => type === "string" || type === "null") &&
    types.get("string")! >= MIN_ENUM_USES * texts.size;
  const keys = [...below].filter(([key]) => key !== null) as [string, Shape][];
  const elements = below.get(null);
  return {
    type: found.length > 1 ? found : found[0],
    format: format ?? undefined,
    enum: isChoice ? [...texts, ...types.has("null") ? [null] : []] : undefined,
    items: elements && toSchema(elements),
    ...keys.length > 0 && {
      properties: Object.fromEntries(
        keys.map(([key, shape]) => [key, toSchema(shape)]),
      ),
      required: keys.filter(([, shape]) => shape.count === types.get("object"))
        .map(([key]) => key),
    },
  };
}

/** JSON types by the types of fields. Other types may hold anything. */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    string: "string text markdown rich-text image file date datetime color " +
      "uuid select relation reference map",
    boolean: "boolean",
    number: "number",
    object: "object keyvalue",
  }).flatMap(([type, names]) => names.split(" ").map((name) => [name, type])),
);

/** Returns the schema of declared fields. The field `body` is the text. */
export function declaredSchema(fields: readonly FieldBody[]): Schema {
  const own = fields.filter(({ name }) => name !== "body");
  return {
    type: "object",
    properties: Object.fromEntries(
      own.map((field) => [field.name, fieldSchema(field)]),
    ),
    required: [
      ...new Set(
        own.filter(({ required }) => required).map(({ name }) => name),
      ),
    ],
  };
}

/** CMS write null or an empty text for a field without a value. */
function fieldSchema(
  { type: name, required, list, options, fields }: FieldBody,
): Schema {
  const type = TYPES.get(name);
  const isEmptyable = !required && !list;
  if (name === "select" && options !== undefined) {
    const choice = [...options, ...isEmptyable ? ["", null] : []];
    const one = { enum: [...new Set(choice)] };
    return list ? listOf(one, required) : one;
  }
  const element = type === "object" && fields !== undefined
    ? declaredSchema(fields)
    : { type };
  if (list) return listOf(element, required);
  return isEmptyable && type !== undefined
    ? { ...element, type: [type, "null"] }
    : element;
}

const listOf = (items: Schema, required: boolean): Schema => ({
  type: required ? "array" : ["array", "null"],
  items,
});
