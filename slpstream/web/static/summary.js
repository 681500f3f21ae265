/**
 * A game in words that are the same for every format. The daemon computes the summary; the pages show it for games whose
 * format they do not know, and for games of a list, which come without their settings.
 */

import { nameOf } from "./set_score.js";

/**
 * @typedef {import("./slpstream.js").Game} Game
 * @typedef {import("./slippi.js").Player} Player
 * @typedef {import("./slpstream_types.js").GameSummary} GameSummary
 * @typedef {import("./slpstream_types.js").PlayerSummary} PlayerSummary
 * @typedef {import("./slpstream_types.js").SetScore} SetScore
 * @typedef {import("./slpstream_types.js").Thing} Thing
 */

/** With more players than this, only those that people play are shown. */
const MAX_PLAYERS = 8;
/** Tells pages that a character is none of Melee's. */
const NO_CHARACTER = -1;

/**
 * The players of a game, by the names that the set has for them.
 * @param {Game} game
 * @param {SetScore | null} [set]  The set that the game belongs to.
 * @returns {Player[]}
 */
export function summaryPlayers(game, set = null) {
  const { players = [] } = game.summary ?? {};
  const shown = players.length > MAX_PLAYERS ? players.filter(({ human = true }) => human) : players;
  return shown.map((player) => {
    const { index, port = index + 1, name, tag, code = "", character = {}, teamName = "", startStocks } = player;
    const seat = { index, port, name: name || tag || `P${port}`, connectCode: code };
    return {
      ...seat,
      name: nameOf(set, seat) || seat.name,
      characterId: NO_CHARACTER,
      character: thingText(character),
      costume: "",
      team: /** @type {Player["team"]} */ (teamName),
      stocks: null,
      startStocks: startStocks ?? 0,
      percent: startStocks === undefined ? undefined : null,
    };
  });
}

/**
 * The name of a stage, a character and the like, or else what it is and its number.
 * @param {Thing | undefined} thing
 */
export function thingText({ kind = "", id, name = "" } = {}) {
  return name || (id === undefined ? "" : `${kind.charAt(0).toUpperCase()}${kind.slice(1)} ${id}`.trim());
}

/**
 * How a game came out, in words; empty when nobody won.
 * @param {Player[]} won
 */
export function outcomeText(won) {
  if (won.length === 0) {
    return "";
  }
  const [{ team, name }] = won;
  return team ? `${team[0].toUpperCase()}${team.slice(1)} team wins` : won.length === 1 ? `${name} wins` : "Tie";
}

/**
 * How a game that is over came out, in words; empty when the summary does not say.
 * @param {Game} game
 * @param {SetScore | null} [set]  The set that the game belongs to.
 */
export function summaryOutcome(game, set = null) {
  const winners = game.end === null ? [] : (game.summary?.winners ?? []);
  return outcomeText(summaryPlayers(game, set).filter(({ index }) => winners.includes(index)));
}
