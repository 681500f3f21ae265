/** A game of any format in words: its place, players, time and result. It does not touch the page. */

import { chosenWinners, inShownOrder } from "./set_score.js";
import { FORMAT, clock, gamePlayers, resultText, stageName } from "./slippi.js";
import { outcomeText, summaryOutcome, summaryPlayers, thingText } from "./summary.js";
import { text } from "./texts/texts.js";

/**
 * @typedef {import("./slpstream.js").Game} Game
 * @typedef {import("./slippi.js").Player} Player
 * @typedef {import("./slpstream_types.js").SetScore} SetScore
 */

/**
 * Whether the page knows the format and has the settings of the game. Games in lists have no settings.
 * @param {Game | null} game
 * @returns {game is Game & {format: typeof FORMAT}}
 */
function isKnown(game) {
  return game?.format === FORMAT && game.settings.players !== undefined;
}

/**
 * The stage, course or track of a game.
 * @param {Game} game
 */
export function placeName(game) {
  const place = isKnown(game) ? stageName(game) : thingText(game.summary?.place, game.format);
  if (game.format === FORMAT) {
    return game.summary?.suddenDeath ? `${place} · ${text("games.sudden_death")}` : place;
  }
  return [game.format.toUpperCase(), place].filter(Boolean).join(" · ");
}

/** @param {Game} game */
export function clockText(game) {
  return isKnown(game) ? clock(game) : "";
}

/**
 * The players of a game, in the order in which scenes show the sides of its set.
 * @param {Game | null} game
 * @param {SetScore | null} [set]  The set that the game belongs to.
 */
export function playersOf(game, set = null) {
  const players = isKnown(game) ? gamePlayers(game, set) : game === null ? [] : summaryPlayers(game, set);
  return inShownOrder(players, set);
}

/**
 * The participants of a game in one line.
 * @param {Game} game
 * @param {Player[]} players
 */
export function whoText(game, players) {
  return game.summary?.who || versus(players);
}

/**
 * Player indexes of the winners of a game. Those that the operator has chosen take precedence.
 * @param {Game | null} game
 * @param {SetScore | null} [set]  The set that the game belongs to.
 */
export function winnersOf(game, set = null) {
  const chosen = game === null || game.end === null ? null : chosenWinners(set, game.gameId);
  if (chosen !== null) {
    return chosen;
  }
  if (isKnown(game)) {
    return (game.end?.winners ?? []).map((winner) => winner.playerIndex);
  }
  return game === null || game.end === null ? [] : (game.summary?.winners ?? []);
}

/**
 * The outcome of a game in words; empty while it is running or if unknown.
 * @param {Game} game
 * @param {SetScore | null} [set]  The set that the game belongs to.
 */
export function resultOf(game, set = null) {
  if (game.end !== null && chosenWinners(set, game.gameId) !== null) {
    const winners = winnersOf(game, set);
    return outcomeText(playersOf(game, set).filter(({ index }) => winners.includes(index)));
  }
  if (isKnown(game)) {
    return resultText(game, set);
  }
  return summaryOutcome(game, set) || (game.format === FORMAT && game.end !== null ? text("game.over") : "");
}

/** @param {Player[]} players */
export function versus(players) {
  const teams = [...new Set(players.map((player) => player.team))];
  const name = (/** @type {Player} */ player) => player.name;
  if (teams.length > 1) {
    const side = (/** @type {string} */ team) => players.filter((player) => player.team === team).map(name).join(text("games.and"));
    return teams.map(side).join(text("games.against"));
  }
  return players.map(name).join(players.length > 2 ? ", " : text("games.against"));
}
