/**
 * The draft of a scene's address, which the editor changes. It leaves out options without an effect, and does not touch the
 * page. The options are in `scene_options.js`.
 */

import { SCENES, TICKER } from "../scene_names.js";
import { OPTIONS, expectedOf, readOptions, readValue } from "../scene_options.js";
import { text } from "../texts/texts.js";

/**
 * @typedef {(typeof SCENES)[number]} SceneName
 * @typedef {keyof typeof OPTIONS} OptionName
 * @typedef {import("../scene_options.js").SceneOptions} SceneOptions
 *
 * @typedef {object} Draft
 * @property {SceneName} scene
 * @property {string} station
 * @property {URLSearchParams} query  Options that differ from the defaults, also of other scenes; without the token.
 *
 * @typedef {object} ReadAddress
 * @property {Draft} draft
 * @property {string | undefined} token
 * @property {string[]} problems  Descriptions of the parts that were left out, in the reader's language.
 */

const NAME = "#editor";

/**
 * Whether the fragment of an address is that of the editor.
 * @param {string} hash
 */
export function isEditor(hash) {
  return hash === NAME || hash.startsWith(`${NAME}/`);
}

/**
 * The options of a scene, in the order of the table.
 * @param {SceneName} scene
 */
export function optionsOf(scene) {
  const names = /** @type {OptionName[]} */ (Object.keys(OPTIONS));
  return names.filter((name) => OPTIONS[name].kind !== "secret" && (OPTIONS[name].scenes?.includes(scene) ?? true));
}

/**
 * The options as the page of the scene reads them.
 * @param {Draft} draft
 * @returns {SceneOptions}
 */
export function effective({ query }) {
  return readOptions(query).options;
}

/**
 * A draft with another value of an option; `null` and `undefined` are the default.
 * @param {Draft} draft
 * @param {OptionName} name
 * @param {unknown} value
 * @returns {Draft}
 */
export function withOption(draft, name, value) {
  const query = new URLSearchParams(draft.query);
  if (value === null || value === undefined) {
    query.delete(name);
  } else {
    query.set(name, written(name, value));
  }
  return { ...draft, query: pruned(query) };
}

/**
 * The address of the scene. Options that this scene does not have, or that have their default, are left out.
 * @param {Draft} draft
 * @param {URL | string} base  Address of the daemon.
 * @param {string} [token]
 */
export function addressOf({ scene, station, query }, base, token) {
  const path = scene === TICKER ? "scenes/ticker" : `scenes/${scene}/${encodeURIComponent(station)}`;
  const names = new Set(/** @type {string[]} */ (optionsOf(scene)));
  const entries = [...query].filter(([name]) => names.has(name));
  if (token !== undefined) {
    entries.push(["token", token]);
  }
  return new URL(path, base).href + queryText(entries);
}

/**
 * The draft of an address of a scene or an overlay; `null` for any other address.
 * @param {string} address
 * @param {URL | string} base  Address of the daemon.
 * @returns {ReadAddress | null}
 */
export function readAddress(address, base) {
  const url = urlOf(address.trim(), base);
  const parts = url === null ? null : /\/(?:(overlay)|scenes\/([^/]+))(?:\/([^/]+))?$/.exec(url.pathname);
  if (url === null || parts === null) {
    return null;
  }
  const [, overlay, name, path] = parts;
  const scene = overlay === undefined ? SCENES.find((each) => each === name) : "live";
  const station = decoded(path ?? "");
  if (scene === undefined || station === null || (scene === TICKER) !== (station === "")) {
    return null;
  }
  const here = new URL(base);
  const problems = url.host === here.host ? [] : [text("editor.other_host", { host: url.host, here: here.host })];
  const token = url.searchParams.get("token") || undefined;
  const given = new URLSearchParams(overlay === undefined ? "" : "layout=hud");
  for (const [option, value] of url.searchParams) {
    if (option !== "token") {
      given.set(option, value);
    }
  }
  const [query, wrong] = known(given);
  return { draft: { scene, station, query }, token, problems: [...problems, ...wrong] };
}

/**
 * The draft in the fragment of an address. Unknown and invalid parts have their default.
 * @param {string} hash
 * @returns {Draft}
 */
export function draftOf(hash) {
  const [path, query = ""] = hash.slice(NAME.length + 1).split("?", 2);
  const [station = "", scene] = path.split("/").map((part) => decoded(part) ?? "");
  const [options] = known(new URLSearchParams(query));
  options.delete("token");
  return { station, scene: SCENES.find((each) => each === scene) ?? "live", query: options };
}

/**
 * The fragment of the editor's address. It keeps the options that the scene does not have, for other scenes.
 * @param {Draft} draft
 */
export function hashOf({ station, scene, query }) {
  return `${NAME}/${encodeURIComponent(station)}/${scene}${queryText([...query])}`;
}

/**
 * The valid options of a query, and descriptions of the others.
 * @param {URLSearchParams} given
 * @returns {[URLSearchParams, string[]]}
 */
function known(given) {
  const query = new URLSearchParams();
  const problems = [];
  for (const [name, value] of given) {
    if (!Object.hasOwn(OPTIONS, name)) {
      problems.push(text("scene.unknown_option", { name }));
      continue;
    }
    const option = /** @type {OptionName} */ (name);
    const read = readValue(option, value);
    if (read === undefined) {
      problems.push(text("scene.invalid_option", { name, value, expected: expectedOf(option) }));
    } else {
      query.set(name, written(option, read));
    }
  }
  return [pruned(query), problems];
}

/**
 * A query without the options that have no effect. The effect of an option can depend on others.
 * @param {URLSearchParams} query
 */
function pruned(query) {
  const result = new URLSearchParams(query);
  for (const [name, value] of query) {
    const before = meaning(result);
    result.delete(name);
    if (meaning(result) !== before) {
      result.set(name, value);
    }
  }
  return inOrder(result);
}

/** @param {URLSearchParams} query */
function meaning(query) {
  return JSON.stringify(readOptions(query).options);
}

/** In the order of the table, so that the same options always give the same address. @param {URLSearchParams} query */
function inOrder(query) {
  const names = Object.keys(OPTIONS);
  return new URLSearchParams([...query].sort(([a], [b]) => names.indexOf(a) - names.indexOf(b)));
}

/**
 * A value of an option in its shortest form.
 * @param {OptionName} name
 * @param {any} value
 */
function written(name, value) {
  const { kind, values = [] } = OPTIONS[name];
  switch (kind) {
    case "switch":
      return value ? "1" : "0";
    case "duration":
      return value % 1000 === 0 ? `${value / 1000}s` : `${value}ms`;
    case "list":
      return values.filter((each) => value.includes(each)).join(",");
    case "players":
      return Array.isArray(value) ? values.filter((each) => value.map(String).includes(each)).join(",") : value;
    case "sizes":
      return values.filter((each) => (value[each] ?? 1) !== 1).map((each) => `${each}:${rounded(value[each])}`).join(",");
    case "factor":
      return rounded(value);
    default:
      return String(value);
  }
}

/** A factor with as many digits as it has percents. @param {number} factor */
function rounded(factor) {
  return String(Math.round(factor * 1000) / 1000);
}

/**
 * A query that people can read: lists and paths need no escapes.
 * @param {[string, string][]} entries
 */
function queryText(entries) {
  const readable = (/** @type {string} */ value) => encodeURIComponent(value).replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%2F/g, "/").replace(/%40/g, "@");
  return entries.length === 0 ? "" : `?${entries.map(([name, value]) => `${encodeURIComponent(name)}=${readable(value)}`).join("&")}`;
}

/**
 * @param {string} address
 * @param {URL | string} base
 */
function urlOf(address, base) {
  try {
    const url = new URL(address, base);
    return ["http:", "https:"].includes(url.protocol) && address !== "" ? url : null;
  } catch {
    return null;
  }
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
