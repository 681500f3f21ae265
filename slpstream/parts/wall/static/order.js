/** Which stations a wall shows, and in which order. It does not touch the page. */

/**
 * @typedef {object} Facts          The known facts about a station.
 * @property {string} id
 * @property {string} name
 * @property {string} state         `playing`, `idle`, `stalled`, `offline` or `starting`.
 * @property {number} attention     0 if all is well, 1 for something that can wait, 2 for something urgent.
 * @property {number} lastStocks    Number of sides on their last stock in a running game.
 * @property {string} round         As the operators have entered it; empty if unknown.
 * @property {number} gameNumber    Number of the running game in its set; 0 if unknown.
 * @property {string} words         Everything that a search looks at.
 *
 * @typedef {import("./options.js").WallOptions} WallOptions
 */

/**
 * The stations that the options ask for, in their order.
 * @template {Facts} T
 * @param {readonly T[]} stations
 * @param {WallOptions} options
 * @param {string} [language]  Of the names.
 */
export function arranged(stations, { sort, state, find }, language = "en") {
  const names = new Intl.Collator(language, { numeric: true, sensitivity: "base" });
  const wanted = folded(find).split(" ").filter(Boolean);
  const shown = stations.filter((station) => {
    const words = folded(station.words);
    return isOfState(station, state) && wanted.every((word) => words.includes(word));
  });
  /** @type {Record<WallOptions["sort"], (a: Facts, b: Facts) => number>} */
  const orders = {
    attention: (a, b) => b.attention - a.attention || b.lastStocks - a.lastStocks,
    last_stock: (a, b) => b.lastStocks - a.lastStocks || playing(b) - playing(a),
    round: (a, b) =>
      Number(a.round === "") - Number(b.round === "") || names.compare(a.round, b.round) || b.gameNumber - a.gameNumber,
    name: () => 0,
  };
  const order = orders[sort];
  return shown.sort((a, b) => order(a, b) || names.compare(a.name, b.name) || names.compare(a.id, b.id));
}

/** @param {Facts} station */
function playing({ state }) {
  return Number(state === "playing");
}

/**
 * @param {Facts} station
 * @param {WallOptions["state"]} wanted
 */
function isOfState({ state, attention }, wanted) {
  switch (wanted) {
    case "all":
      return true;
    case "attention":
      return attention > 0;
    case "offline":
      return state === "offline" || state === "stalled";
    default:
      return state === wanted;
  }
}

/**
 * A text without differences in case, width and accents.
 * @param {string} text
 */
function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/\s+/gu, " ").trim();
}
