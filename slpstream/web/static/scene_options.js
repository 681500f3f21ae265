/**
 * The options in the URL of a scene: one table for all scenes. The page about scenes documents them.
 */

import { LANGUAGES, text as textOf } from "./texts/texts.js";

export const PARTS = Object.freeze(
  /** @type {const} */ (["names", "stocks", "percent", "combo", "timer", "stage", "score", "controller"]),
);
/** The parts that the game's own display has too. */
const PARTS_OF_HUD = Object.freeze(/** @type {const} */ (["stocks", "percent", "timer"]));
export const THEMES = Object.freeze(/** @type {const} */ (["dark", "light", "neon", "varsity"]));
export const LAYOUTS = Object.freeze(/** @type {const} */ (["sides", "top", "bottom", "hud"]));
/** Width divided by height of the game's picture. */
export const ASPECTS = Object.freeze({ "4:3": 4 / 3, "73:60": 73 / 60, "16:9": 16 / 9 });
/** The places of a scene that is smaller than the picture. */
export const PLACES = Object.freeze(/** @type {const} */ (["middle", "left", "right"]));
/** The parts that `sizes` can scale. */
export const SIZES = Object.freeze(/** @type {const} */ (["name", "score", "percent", "picture", "info"]));

/**
 * @typedef {(typeof PARTS)[number]} Part
 * @typedef {(typeof THEMES)[number]} Theme
 * @typedef {(typeof LAYOUTS)[number]} Layout
 * @typedef {keyof typeof ASPECTS} Aspect
 * @typedef {(typeof PLACES)[number]} Place
 *
 * @typedef {object} SceneOptions
 * @property {"all" | "left" | "right" | number[]} players  Numbers are ports.
 * @property {Part[]} show
 * @property {Theme} theme
 * @property {Layout} layout           Of the live scene.
 * @property {Aspect} aspect           Of the game's picture.
 * @property {boolean} hud             Shows percents, stocks and timer itself; `show` takes precedence.
 * @property {Place} at                Left and right are at the bottom of the picture.
 * @property {boolean} fill            Fills the picture, with a background.
 * @property {string[]} casters        Names with handles, such as `Mika @mika`; empty for those of the set.
 * @property {boolean} sponsors        Shows the logos in the overlay folder, one after another.
 * @property {Partial<Record<(typeof SIZES)[number], number>>} sizes  Factors.
 * @property {boolean} odds            Shows how likely each of two sides is to win the game, or what changed that.
 * @property {number} delay            Milliseconds.
 * @property {number} scale
 * @property {number} hold             Milliseconds.
 * @property {boolean} motion
 * @property {string | null} lang      `texts.js` reads it.
 * @property {string | null} css       Path below `/custom/`.
 * @property {boolean} delta           Receives messages as deltas, for distant viewers.
 * @property {string | undefined} token
 */

/** @returns {Omit<SceneOptions, "show" | "hud"> & {show: Part[] | null, hud: boolean | null}} */
const defaults = () => ({
  players: "all",
  show: null,
  theme: "dark",
  layout: "sides",
  aspect: "4:3",
  hud: null,
  at: "middle",
  fill: false,
  casters: [],
  sponsors: false,
  sizes: {},
  odds: false,
  delay: 0,
  scale: 1,
  hold: 10_000,
  motion: true,
  lang: null,
  css: null,
  delta: false,
  token: undefined,
});

/**
 * @typedef {"choice" | "switch" | "list" | "sizes" | "duration" | "factor" | "players" | "names" | "stylesheet" | "secret"} Kind
 *
 * @typedef {object} Option  The visual editor of the dashboard has a control for each option.
 * @property {Kind} kind
 * @property {readonly string[]} [values]  Valid values, or valid members of a list.
 * @property {number} [min]
 * @property {number} [max]                Of a factor; of a duration in milliseconds; number of names.
 * @property {readonly string[]} [scenes]  Those in which the option changes something. Default: all.
 */

const LIVE = Object.freeze(["live"]);

/** @type {Readonly<Record<keyof SceneOptions, Option>>} */
export const OPTIONS = {
  players: { kind: "players", values: ["1", "2", "3", "4"], scenes: ["live", "player", "controller"] },
  show: { kind: "list", values: PARTS, scenes: LIVE },
  theme: { kind: "choice", values: THEMES },
  layout: { kind: "choice", values: LAYOUTS, scenes: LIVE },
  aspect: { kind: "choice", values: Object.keys(ASPECTS), scenes: LIVE },
  hud: { kind: "switch", scenes: LIVE },
  at: { kind: "choice", values: PLACES, scenes: ["controller", "casters"] },
  fill: { kind: "switch", scenes: ["versus", "matchup"] },
  casters: { kind: "names", max: 3, scenes: ["casters"] },
  sponsors: { kind: "switch", scenes: ["ticker"] },
  sizes: { kind: "sizes", values: SIZES, min: 0.5, max: 2 },
  odds: { kind: "switch", scenes: ["live", "game-result", "set-result", "highlights"] },
  delay: { kind: "duration", max: 60_000 },
  scale: { kind: "factor", min: 0.25, max: 4 },
  hold: { kind: "duration", max: 3_600_000, scenes: LIVE },
  motion: { kind: "switch" },
  lang: { kind: "choice", values: LANGUAGES },
  css: { kind: "stylesheet" },
  delta: { kind: "switch" },
  token: { kind: "secret" },
};

/** Parsers of the values. They return `undefined` for an invalid value. @type {Record<Kind, (text: string, option: Option) => unknown>} */
const READERS = {
  choice: (text, { values = [] }) => oneOf(text, values),
  switch: readSwitch,
  list: (text, { values = [] }) => readList(text, values),
  sizes: readSizes,
  duration: (text, { max = Infinity }) => readDuration(text, max),
  factor: (text, { min = 0, max = Infinity }) => readFactor(text, min, max),
  players: readPlayers,
  names: readNames,
  stylesheet: readStylesheet,
  secret: (text) => text,
};

/**
 * Descriptions of the valid values, for options whose kind does not imply them.
 * @type {Partial<Record<keyof SceneOptions, () => string>>}
 */
const EXPECTED = {
  players: () => textOf("scene.expected.players"),
  show: () => textOf("scene.expected.list", { values: PARTS.join(", ") }),
  casters: () => textOf("scene.expected.casters"),
  sizes: () => textOf("scene.expected.sizes", { values: SIZES.join(", ") }),
  delay: () => textOf("scene.expected.delay"),
  scale: () => textOf("scene.expected.scale"),
  hold: () => textOf("scene.expected.hold"),
  css: () => textOf("scene.expected.css"),
  token: () => textOf("scene.expected.token"),
};

/**
 * The value in a text; `undefined` if it is invalid.
 * @param {keyof SceneOptions} name
 * @param {string} text
 * @returns {any}
 */
export function readValue(name, text) {
  return READERS[OPTIONS[name].kind](text.trim(), OPTIONS[name]);
}

/**
 * Describes the valid values of an option in the reader's language.
 * @param {keyof SceneOptions} name
 */
export function expectedOf(name) {
  return EXPECTED[name]?.() ?? choice(OPTIONS[name].values ?? ["0", "1"]);
}

/**
 * Reads the options of a query. Invalid ones are listed in `problems` and keep their default.
 * @param {URLSearchParams} query
 * @param {{layout?: Layout}} [others]  Defaults of this scene.
 * @returns {{options: SceneOptions, problems: string[]}}
 */
export function readOptions(query, others = {}) {
  /** @type {Record<string, any>} */
  const options = { ...defaults(), ...others };
  const problems = [];
  for (const [name, value] of query) {
    if (!Object.hasOwn(OPTIONS, name)) {
      problems.push(textOf("scene.unknown_option", { name }));
      continue;
    }
    const known = /** @type {keyof SceneOptions} */ (name);
    const read = readValue(known, value);
    if (read === undefined) {
      problems.push(textOf("scene.invalid_option", { name, value, expected: expectedOf(known) }));
    } else {
      options[known] = read;
    }
  }
  options.hud ??= options.layout === "hud";
  options.show ??= PARTS.filter(
    (part) => part !== "controller" && (options.hud || !(/** @type {readonly string[]} */ (PARTS_OF_HUD).includes(part))),
  );
  return { options: /** @type {SceneOptions} */ (options), problems };
}

/** @param {readonly string[]} values */
function choice(values) {
  return textOf("scene.expected.choice", { others: values.slice(0, -1).join(", "), last: values[values.length - 1] });
}

/**
 * @param {string} text
 * @param {readonly string[]} allowed
 */
function oneOf(text, allowed) {
  return allowed.includes(text) ? text : undefined;
}

/** @param {string} text */
function readSwitch(text) {
  return ["0", "1"].includes(text) ? text === "1" : undefined;
}

/**
 * @param {string} text
 * @param {Option} option
 */
function readPlayers(text, { values = [] }) {
  if (["all", "left", "right"].includes(text)) {
    return text;
  }
  const ports = readList(text, values);
  return ports?.length ? ports.map(Number) : undefined;
}

/**
 * @param {string} text
 * @param {readonly string[]} allowed
 */
function readList(text, allowed) {
  const parts = text.split(",").map((part) => part.trim()).filter((part) => part !== "");
  return parts.every((part) => allowed.includes(part)) ? [...new Set(parts)] : undefined;
}

/**
 * @param {string} text
 * @param {Option} option
 */
function readNames(text, { max = Infinity }) {
  const names = text.split(",").map((name) => name.trim()).filter((name) => name !== "");
  return names.length <= max ? names : undefined;
}

/**
 * Factors of sizes: `name:1.2,score:80%`.
 * @param {string} text
 * @param {Option} option
 */
function readSizes(text, { values = [], min = 0, max = Infinity }) {
  /** @type {Record<string, number>} */
  const sizes = {};
  for (const part of text.split(",").filter((each) => each.trim() !== "")) {
    const [name, value = ""] = part.split(":").map((each) => each.trim());
    const factor = readFactor(value, min, max);
    if (!values.includes(name) || factor === undefined) {
      return undefined;
    }
    sizes[name] = factor;
  }
  return sizes;
}

const UNITS = /** @type {Record<string, number>} */ ({ ms: 1, s: 1000, m: 60_000, h: 3_600_000 });

/**
 * A duration in milliseconds. Numbers without a unit are milliseconds.
 * @param {string} text
 * @param {number} maxMs
 */
function readDuration(text, maxMs) {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text);
  const value = match === null ? Infinity : Number(match[1]) * UNITS[match[2] ?? "ms"];
  return value <= maxMs ? value : undefined;
}

/**
 * @param {string} text  A number, or a percentage.
 * @param {number} min
 * @param {number} max
 */
function readFactor(text, min, max) {
  const match = /^(\d+(?:\.\d+)?)(%?)$/.exec(text);
  const value = match === null ? NaN : Number(match[1]) / (match[2] ? 100 : 1);
  return value >= min && value <= max ? value : undefined;
}

/**
 * A path inside the overlay folder. `URL` resolves `..`, other hosts and escapes, so that none of them leads outside.
 * @param {string} text
 */
function readStylesheet(text) {
  const folder = new URL("https://here/custom/");
  try {
    const url = new URL(text, folder);
    const inside = url.origin === folder.origin && url.pathname.startsWith(folder.pathname);
    return inside && url.pathname.endsWith(".css") ? url.pathname.slice(folder.pathname.length) : undefined;
  } catch {
    return undefined;
  }
}
