/** The set of a station as the pages show it: who of a game is who of the set, names and score. Knows no page. */

/**
 * @typedef {import("./slpstream_types.js").SetScore} SetScore
 * @typedef {import("./slpstream_types.js").SetPlayer} SetPlayer
 *
 * @typedef {object} Seat        Somebody in a game.
 * @property {number} index
 * @property {number} port
 * @property {string} name
 * @property {string} connectCode
 */

/**
 * The place of a player of a game among the players of the set; -1 without. They are known by their index, else by port, else
 * by connect code or name; another connect code is another player.
 * @param {SetScore | null} set
 * @param {Seat} player
 */
function placeOf(set, player) {
  return (set?.players ?? []).findIndex(({ playerIndex, port, connectCode, name }) => {
    if (connectCode && player.connectCode && connectCode !== player.connectCode) {
      return false;
    }
    if (playerIndex !== undefined) {
      return playerIndex === player.index;
    }
    if (port !== undefined) {
      return port === player.port;
    }
    return Boolean(connectCode) && connectCode === player.connectCode || Boolean(name) && name === player.name;
  });
}

/**
 * Games won in the set; `null` when nobody says.
 * @param {SetScore | null} set
 * @param {Seat} player
 * @returns {number | null}
 */
export function scoreOf(set, player) {
  const at = placeOf(set, player);
  return at === -1 ? null : (set?.players[at].score ?? set?.score?.[at] ?? null);
}

/**
 * What the set calls a player; empty when it has no name.
 * @param {SetScore | null} set
 * @param {Seat} player
 */
export function nameOf(set, player) {
  return set?.players[placeOf(set, player)]?.name ?? "";
}

/**
 * How long it is, in words; empty when nobody says.
 * @param {SetScore | null} set
 */
export function lengthText(set) {
  return set?.bestOf === undefined ? "" : `Best of ${set.bestOf}`;
}
