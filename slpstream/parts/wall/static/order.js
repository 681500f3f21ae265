/** Which stations a wall shows, in which order, and which of them is featured. It does not touch the page. */

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
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 * @typedef {{id: string, untilMs: number}} Featured  Until when the station keeps its place at least.
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

/** The featured station keeps its place for this long after another one has become tenser. */
const HOLD_MS = 10_000;

/**
 * How tense the game of a station is: last stocks count, and games that can win the set. 0 without a game.
 * @param {Facts & {set: SetScore | null}} station
 */
function tension({ state, lastStocks, set }) {
  if (state !== "playing") {
    return 0;
  }
  const { sides = [], winsNeeded = Infinity } = set ?? {};
  const setPoints = sides.filter(({ score }) => score === winsNeeded - 1).length;
  const isDeciding = setPoints > 0 && setPoints === sides.length;
  return 1 + 2 * Math.min(lastStocks, 2) + (isDeciding ? 3 : Math.min(setPoints, 1));
}

/**
 * Which station is featured: the tensest one. The last one stays for a while when another one is tenser, so that the wall does
 * not flicker, and while no station plays.
 * @template {Facts & {set: SetScore | null}} T
 * @param {readonly T[]} stations     Those that are shown.
 * @param {Featured | null} last
 * @param {number} nowMs              In milliseconds of one clock.
 * @returns {Featured | null}
 */
export function featuredOf(stations, last, nowMs) {
  const most = Math.max(0, ...stations.map(tension));
  const current = stations.find(({ id }) => id === last?.id);
  if (last !== null && current !== undefined) {
    if (tension(current) === most) {
      return { id: last.id, untilMs: nowMs + HOLD_MS };
    }
    if (nowMs < last.untilMs) {
      return last;
    }
  }
  const next = most > 0 ? stations.find((station) => tension(station) === most) : undefined;
  return next === undefined ? null : { id: next.id, untilMs: nowMs + HOLD_MS };
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
