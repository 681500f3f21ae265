/** JSON schemas in readable form: types in a few words, members, examples. It does not touch the page. */

/** @typedef {Record<string, any>} Schema */

const REFERENCE = "#/components/schemas/";
const MAX_DEPTH = 5;

/**
 * A type in a few words, such as `string | null` or `Game[]`.
 * @param {Schema} schema
 * @returns {string}
 */
export function typeText(schema) {
  if (schema.$ref !== undefined) {
    return schema.$ref.replace(REFERENCE, "");
  }
  if (schema.anyOf !== undefined && schema.type === undefined) {
    return schema.anyOf.map(typeText).join(" | ");
  }
  if (schema.enum !== undefined) {
    return schema.enum.map((/** @type {unknown} */ value) => JSON.stringify(value)).join(" | ");
  }
  if (schema.type === "array") {
    const items = schema.items === undefined ? "any" : typeText(schema.items);
    return items.includes(" ") ? `(${items})[]` : `${items}[]`;
  }
  if (schema.type === "object" && schema.additionalProperties !== undefined) {
    return `{string: ${schema.additionalProperties === true ? "any" : typeText(schema.additionalProperties)}}`;
  }
  const bounds = [
    schema.minimum === undefined ? "" : `≥ ${schema.minimum}`,
    schema.maximum === undefined ? "" : `≤ ${schema.maximum}`,
  ].filter(Boolean);
  const kind = [schema.type ?? "any"].flat().join(" | ");
  return bounds.length ? `${kind} ${bounds.join(" ")}` : kind;
}

/**
 * The members of an object.
 * @param {Schema} schema
 * @returns {{name: string, required: boolean, schema: Schema}[]}
 */
export function membersOf({ properties = {}, required = [] }) {
  return Object.entries(properties).map(([name, schema]) => ({ name, required: required.includes(name), schema }));
}

/**
 * A value of a schema.
 * @param {Schema} schema
 * @param {Record<string, Schema>} schemas  By name.
 * @param {number} [depth]
 * @returns {any}
 */
export function exampleOf(schema, schemas, depth = 0) {
  if (schema.$ref !== undefined) {
    return depth > MAX_DEPTH ? {} : exampleOf(schemas[schema.$ref.replace(REFERENCE, "")] ?? {}, schemas, depth + 1);
  }
  if (schema.examples !== undefined) {
    return schema.examples[0];
  }
  if (schema.enum !== undefined) {
    return schema.enum[0];
  }
  if (schema.anyOf !== undefined && schema.type === undefined) {
    const known = schema.anyOf.find((/** @type {Schema} */ each) => each.type !== "null") ?? {};
    return exampleOf(known, schemas, depth);
  }
  switch ([schema.type].flat()[0]) {
    case "object":
      return Object.fromEntries(membersOf(schema).map(({ name, schema: member }) => [name, exampleOf(member, schemas, depth)]));
    case "array":
      return schema.items === undefined || depth > MAX_DEPTH ? [] : [exampleOf(schema.items, schemas, depth + 1)];
    case "string":
      return schema.format === "date-time" ? "2026-01-31T18:30:00.000Z" : (schema.default ?? "…");
    case "integer":
    case "number":
      return schema.default ?? schema.minimum ?? 0;
    case "boolean":
      return schema.default ?? true;
    default:
      return null;
  }
}
