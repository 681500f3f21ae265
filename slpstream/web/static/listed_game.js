/** Games of `/v1/games` in the shape of live games, so that the same code displays both. */

import { shownNames } from "./summary.js";

/**
 * @typedef {import("./slpstream.js").Game} Game
 * @typedef {Record<string, any>} Item  A game of the list, or a single game, which also has `settings` and `end`.
 */

/**
 * Whether the end of a game is known. A file that has just been found can be listed before its end has been read.
 * @param {Item} item
 */
export function isOver({ inProgress, reason }) {
  return !inProgress && Boolean(reason);
}

/**
 * The game without the values of its players.
 * @param {Item} item
 * @returns {Game}
 */
export function gameOf(item) {
  const { gameId, format = "", rate = [60, 1], settings = {}, summary = null, players, lastFrame = null, reason, end } = item;
  const winners = end?.winners ?? (item.winners ?? []).map((/** @type {number} */ playerIndex) => ({ playerIndex, position: 0 }));
  const { durationSeconds = null } = item;
  const tied = end?.tied ?? summary?.tied ?? false;
  return {
    gameId,
    format,
    rate,
    settings,
    summary,
    frame: lastFrame,
    players: new Map(),
    scores: new Map(),
    names: shownNames(players),
    end: isOver(item) ? { reason, winners, gameEnd: end?.gameEnd ?? null, durationSeconds, tied } : null,
  };
}
