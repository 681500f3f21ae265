/**
 * The options in the URL of the overlay. `docs/howto/overlay.md` documents them.
 */

export const PARTS = Object.freeze(
  /** @type {const} */ (["names", "stocks", "percent", "combo", "timer", "stage", "score", "controller"]),
);

/**
 * @typedef {(typeof PARTS)[number]} Part
 *
 * @typedef {object} OverlayOptions
 * @property {"all" | "left" | "right" | number[]} players  Numbers are ports.
 * @property {Part[]} show
 * @property {"dark" | "light"} theme
 * @property {number} delay            Milliseconds.
 * @property {number} scale
 * @property {number} hold             Milliseconds.
 * @property {string | null} css       Path below `/custom/`.
 * @property {boolean} delta           Receives messages as deltas, for distant viewers.
 * @property {string | undefined} token
 */

const MAX_DELAY_MS = 60_000;
const MAX_HOLD_MS = 3_600_000;

/** @returns {OverlayOptions} */
const defaults = () => ({
  players: "all",
  show: PARTS.filter((part) => part !== "controller"),
  theme: "dark",
  delay: 0,
  scale: 1,
  hold: 10_000,
  css: null,
  delta: false,
  token: undefined,
});

/** Parsers of the values. They return `undefined` for an invalid value. @type {Record<keyof OverlayOptions, (text: string) => unknown>} */
const READERS = {
  players: readPlayers,
  show: (text) => readList(text, /** @type {readonly string[]} */ (PARTS)),
  theme: (text) => (["dark", "light"].includes(text) ? text : undefined),
  delay: (text) => readDuration(text, MAX_DELAY_MS),
  scale: readScale,
  hold: (text) => readDuration(text, MAX_HOLD_MS),
  css: readStylesheet,
  delta: (text) => (["0", "1"].includes(text) ? text === "1" : undefined),
  token: (text) => text,
};

/** Descriptions of the valid values. @type {Record<keyof OverlayOptions, string>} */
const EXPECTED = {
  players: "all, left, right, or ports such as 1,2",
  show: `a comma-separated list of ${PARTS.join(", ")}`,
  theme: "dark or light",
  delay: "a duration of at most 60s, such as 500ms or 2s",
  scale: "0.25 to 4, or 25% to 400%",
  hold: "a duration of at most 1h, such as 500ms, 10s or 2m",
  css: "the path of a stylesheet in the overlay folder",
  delta: "0 or 1",
  token: "an access token",
};

/**
 * Reads the options of a query. Invalid ones are listed in `problems` and keep their default.
 * @param {URLSearchParams} query
 * @returns {{options: OverlayOptions, problems: string[]}}
 */
export function readOptions(query) {
  /** @type {Record<string, any>} */
  const options = defaults();
  const problems = [];
  for (const [name, text] of query) {
    if (!Object.hasOwn(READERS, name)) {
      problems.push(`unknown option: ${name}`);
      continue;
    }
    const known = /** @type {keyof OverlayOptions} */ (name);
    const value = READERS[known](text.trim());
    if (value === undefined) {
      problems.push(`${name}=${text}: expected ${EXPECTED[known]}`);
    } else {
      options[known] = value;
    }
  }
  return { options: /** @type {OverlayOptions} */ (options), problems };
}

/** @param {string} text */
function readPlayers(text) {
  if (["all", "left", "right"].includes(text)) {
    return text;
  }
  const ports = readList(text, ["1", "2", "3", "4"]);
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

/** @param {string} text */
function readScale(text) {
  const match = /^(\d+(?:\.\d+)?)(%?)$/.exec(text);
  const value = match === null ? NaN : Number(match[1]) / (match[2] ? 100 : 1);
  return value >= 0.25 && value <= 4 ? value : undefined;
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
