/** The types in `slpstream_types.js`, read from its comments. It does not touch the page. */

/**
 * @typedef {{name: string, optional: boolean, kind: string, description: string}} Field
 * @typedef {{expression: string, description: string, fields: Field[]}} Type  `expression` is `object` for a type with fields.
 */

const TAG = /^@(typedef|property) \{/;
const LISTENERS = "Events";
export const TYPE_NAME = /\b([A-Z]\w+)/;

/**
 * All types by name.
 * @param {string} source
 * @returns {Map<string, Type>}
 */
export function parseTypes(source) {
  /** @type {Map<string, Type>} */
  const types = new Map();
  /** @type {Type | undefined} */
  let current;
  for (const tag of tagsOf(source)) {
    const [, kind] = TAG.exec(tag) ?? [];
    const end = closing(tag, tag.indexOf("{"));
    const expression = tag.slice(tag.indexOf("{") + 1, end).replaceAll(/\s+/g, " ");
    const [, name = "", description = ""] = /^\s*(\S+)\s*([^]*)$/.exec(tag.slice(end + 1)) ?? [];
    if (kind === "typedef") {
      current = { expression, description, fields: [] };
      types.set(name, current);
    } else if (current !== undefined) {
      const optional = name.startsWith("[");
      current.fields.push({ name: name.replaceAll(/[[\]]/g, ""), optional, kind: expression, description });
    }
  }
  return types;
}

/**
 * The fields of a message, those of its envelope first.
 * @param {Map<string, Type>} types
 * @param {string} message  The `type` of the message.
 * @returns {Field[]}
 */
export function fieldsOf(types, message) {
  const name = types.get(LISTENERS)?.fields.find((field) => field.name === message)?.kind;
  return name === undefined ? [] : membersOfType(types, name).filter((field) => field.name !== "type");
}

/**
 * The types that fields name, and those that the fields of these types name. Types without fields are not among them.
 * @param {Map<string, Type>} types
 * @param {Field[]} fields
 * @param {Set<string>} [found]
 * @returns {Set<string>}
 */
export function typesNamedIn(types, fields, found = new Set()) {
  for (const name of fields.flatMap(({ kind }) => kind.split(TYPE_NAME))) {
    const members = types.has(name) && !found.has(name) ? membersOfType(types, name) : [];
    if (members.length > 0) {
      typesNamedIn(types, members, found.add(name));
    }
  }
  return found;
}

/**
 * The fields of a type. Types without fields are replaced by what they stand for.
 * @param {Map<string, Type>} types
 * @param {string} name
 * @returns {Field[]}
 */
export function membersOfType(types, name) {
  return expanded(types, name).map((field) => {
    const type = types.get(field.kind);
    const plain = type !== undefined && expanded(types, field.kind).length === 0;
    return plain ? { ...field, kind: type.expression } : field;
  });
}

/**
 * @param {Map<string, Type>} types
 * @param {string} expression
 * @returns {Field[]}
 */
function expanded(types, expression) {
  return split(expression, "&").flatMap((part) => {
    const [, partial] = /^Partial<(\w+)>$/.exec(part) ?? [];
    if (partial !== undefined) {
      return expanded(types, partial).map((field) => ({ ...field, optional: true }));
    }
    if (part.startsWith("{")) {
      return split(part.slice(1, -1), ",").map((member) => {
        const colon = member.indexOf(":");
        const name = member.slice(0, colon);
        return { name: name.replace("?", ""), optional: name.endsWith("?"), kind: member.slice(colon + 1).trim(), description: "" };
      });
    }
    const type = types.get(part);
    return type === undefined ? [] : type.expression === "object" ? type.fields : expanded(types, type.expression);
  });
}

/**
 * The tags in all comments, each with the lines that continue it.
 * @param {string} source
 */
function tagsOf(source) {
  /** @type {string[]} */
  const tags = [];
  let open = false;
  for (const line of source.split("\n")) {
    const words = line.replace(/^\s*(\/\*\*|\*\/|\*)?\s?/, "").trim();
    if (TAG.test(words)) {
      tags.push(words);
      open = true;
    } else if (words === "" || words === "/" || words.startsWith("@")) {
      open = false;
    } else if (open) {
      tags[tags.length - 1] += ` ${words}`;
    }
  }
  return tags;
}

/**
 * The position of the bracket that closes the one at `start`.
 * @param {string} words
 * @param {number} start
 */
function closing(words, start) {
  let depth = 0;
  for (let i = start; i < words.length; i++) {
    depth += words[i] === "{" ? 1 : words[i] === "}" ? -1 : 0;
    if (depth === 0) {
      return i;
    }
  }
  return words.length;
}

/**
 * The parts between separators that are outside brackets.
 * @param {string} words
 * @param {string} separator
 */
function split(words, separator) {
  const parts = [""];
  let depth = 0;
  for (const letter of words) {
    depth += "{[<(".includes(letter) ? 1 : "}]>)".includes(letter) ? -1 : 0;
    if (letter === separator && depth === 0) {
      parts.push("");
    } else {
      parts[parts.length - 1] += letter;
    }
  }
  return parts.map((part) => part.trim()).filter(Boolean);
}
