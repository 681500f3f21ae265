/**
 * The summary of a game, which has the same shape for every format. The daemon computes it. The pages use it for formats
 * that they do not know, and for games in lists, which have no settings.
 */

import { nameOf } from "./set_score.js";
import { FORMAT, localName, portText } from "./texts/names.js";
import { hasText, text } from "./texts/texts.js";

/**
 * @typedef {import("./slpstream.js").Game} Game
 * @typedef {import("./slippi.js").Player} Player
 * @typedef {import("./slpstream_types.js").GameSummary} GameSummary
 * @typedef {import("./slpstream_types.js").PlayerSummary} PlayerSummary
 * @typedef {import("./slpstream_types.js").SetScore} SetScore
 * @typedef {import("./slpstream_types.js").Thing} Thing
 */

/** In a game with more players than this, computer players are not shown. */
const MAX_PLAYERS = 8;
/** The id of characters that are not Melee's. */
const NO_CHARACTER = -1;
/** Tables of names by the kind of a thing. @type {Readonly<Record<string, import("./texts/names.js").Kind>>} */
const KINDS = Object.freeze({ character: "characters", stage: "stages" });

/**
 * The players of a game. Names from the set take precedence.
 * @param {Game} game
 * @param {SetScore | null} [set]  The set that the game belongs to.
 * @returns {Player[]}
 */
export function summaryPlayers(game, set = null) {
  const { players = [], mode = "" } = game.summary ?? {};
  const shown = players.length > MAX_PLAYERS ? players.filter(({ human = true }) => human) : players;
  return shown.map((player) => {
    const { index, port = index + 1, name, tag, code = "", character = {}, teamName = "", startStocks, score } = player;
    const { stocksRemaining, percent } = game.players.get(index)?.post ?? {};
    const identity = { index, port, name: name || tag || portText(port), connectCode: code };
    return {
      ...identity,
      name: nameOf(set, identity) || (set === null && game.names?.get(index)) || identity.name,
      characterId: NO_CHARACTER,
      character: thingText(character, game.format),
      costume: "",
      costumeIndex: 0,
      team: teamName,
      stocks: startStocks === undefined ? null : (stocksRemaining ?? null),
      startStocks: startStocks ?? 0,
      points: score ?? null,
      percent: startStocks === undefined && mode === "" ? undefined : typeof percent === "number" ? Math.floor(percent) : null,
    };
  });
}

/**
 * The names to show by player index, for `Game.names`.
 * @param {{index: number, name?: string}[]} [players]  As in the daemon's lists.
 * @returns {Map<number, string>}
 */
export function shownNames(players = []) {
  return new Map(players.map(({ index, name = "" }) => [index, name]));
}

/**
 * The name of a stage, character and so on, or else its kind and id.
 * @param {Thing | undefined} thing
 * @param {string} format  That of the game: the daemon's names are English, and Melee's have others in the reader's language.
 */
export function thingText({ kind = "", id, name = "" } = {}, format) {
  const own = format === FORMAT && typeof id === "number" ? localName(KINDS[kind], id) : undefined;
  return own || name || (id === undefined ? "" : `${kind.charAt(0).toUpperCase()}${kind.slice(1)} ${id}`.trim());
}

/**
 * The outcome of a game in words; empty without a winner.
 * @param {Player[]} winners
 */
export function outcomeText(winners) {
  if (winners.length === 0) {
    return "";
  }
  const [{ team, name }] = winners;
  if (team) {
    const key = `game.team_wins.${team}`;
    return hasText(key) ? text(key) : text("game.team_wins", { team: `${team[0].toUpperCase()}${team.slice(1)}` });
  }
  return winners.length === 1 ? text("game.wins", { name }) : text("game.tie");
}

/**
 * The outcome of a finished game in words; empty if the summary has none.
 * @param {Game} game
 * @param {SetScore | null} [set]  The set that the game belongs to.
 */
export function summaryOutcome(game, set = null) {
  if (game.end === null) {
    return "";
  }
  const { winners = [], tied = false } = game.summary ?? {};
  return tied ? text("game.tie") : outcomeText(summaryPlayers(game, set).filter(({ index }) => winners.includes(index)));
}
