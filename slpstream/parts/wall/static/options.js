/** The options of a wall, as in its address: `#wall?sort=name&state=playing`. It does not touch the page. */

export const SORTS = Object.freeze(/** @type {const} */ (["attention", "last_stock", "round", "name"]));
export const STATES = Object.freeze(/** @type {const} */ (["all", "attention", "playing", "idle", "offline"]));
export const SIZES = Object.freeze(/** @type {const} */ (["auto", "large", "medium", "small"]));

/**
 * @typedef {object} WallOptions
 * @property {(typeof SORTS)[number]} sort
 * @property {(typeof STATES)[number]} state  Which stations are shown; `offline` includes stalled ones.
 * @property {(typeof SIZES)[number]} size
 * @property {string} find   Words that a station must have.
 * @property {boolean} featured Whether the tensest setup has a large tile.
 * @property {boolean} clean Whether only the stations are shown, for a projector.
 */

/** @type {Readonly<WallOptions>} */
export const DEFAULTS = Object.freeze({
  sort: "attention",
  state: "all",
  size: "auto",
  find: "",
  featured: false,
  clean: false,
});
const NAME = "#wall";

/**
 * Whether the fragment of an address is that of a wall.
 * @param {string} hash
 */
export function isWall(hash) {
  return hash === NAME || hash.startsWith(`${NAME}?`);
}

/**
 * The options in the fragment of an address. Unknown and invalid ones have their default.
 * @param {string} hash
 * @returns {WallOptions}
 */
export function optionsOf(hash) {
  const query = new URLSearchParams(isWall(hash) ? hash.slice(NAME.length) : "");
  return {
    sort: SORTS.find((each) => each === query.get("sort")) ?? DEFAULTS.sort,
    state: STATES.find((each) => each === query.get("state")) ?? DEFAULTS.state,
    size: SIZES.find((each) => each === query.get("size")) ?? DEFAULTS.size,
    find: query.get("find") ?? DEFAULTS.find,
    featured: query.get("featured") === "1",
    clean: query.get("clean") === "1",
  };
}

/**
 * The fragment of an address; options that have their default are left out.
 * @param {WallOptions} options
 */
export function hashOf(options) {
  const query = new URLSearchParams();
  for (const name of /** @type {(keyof WallOptions)[]} */ (Object.keys(DEFAULTS))) {
    if (options[name] !== DEFAULTS[name]) {
      query.set(name, options[name] === true ? "1" : String(options[name]));
    }
  }
  const text = query.toString();
  return text === "" ? NAME : `${NAME}?${text}`;
}
