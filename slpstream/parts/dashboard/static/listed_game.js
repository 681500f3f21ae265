/** Games as the daemon lists them, with the values of their players at the end. */

import { gameOf, isOver } from "../listed_game.js";
import { shownNames } from "../summary.js";

/**
 * @typedef {import("../listed_game.js").Game} Game
 * @typedef {import("../listed_game.js").Item} Item
 */

/**
 * A listed game with percents, stocks and scores at its end.
 * @param {Item} item
 * @param {Record<string, any> | null} [stats]  `StatsType`, which has the values of every stock.
 * @returns {Game}
 */
export function gameAtEnd(item, stats = null) {
  const game = gameOf(item);
  const values = stats !== null ? lastLives(stats) : item.standings ? lastValues(item.standings) : unknownValues(game.settings);
  return {
    ...game,
    frame: game.frame ?? stats?.lastFrame ?? null,
    players: /** @type {Game["players"]} */ (new Map(values)),
    scores: new Map(scoresOf(item)),
  };
}

/**
 * A game of the stream with the names that lists have for its players, because the stream only has those of the newest set.
 * @template {Game | null} T
 * @param {T} game
 * @param {Item | null} item  The last game of the station.
 * @returns {T}
 */
export function withNames(game, item) {
  return game !== null && game.gameId === item?.gameId ? { ...game, names: shownNames(item.players) } : game;
}

/**
 * Whether a list has the end of a game that the stream has ended without its last frame, because the page was not connected
 * then or gets fewer frames.
 * @param {Game | null} game  Of the stream.
 * @param {Item | null} item  The last game of the station.
 */
export function lacksEnd(game, item) {
  const isEnded = game !== null && game.end !== null && item !== null && game.gameId === item.gameId && isOver(item);
  return isEnded && (game.frame ?? -Infinity) < (item.lastFrame ?? -Infinity);
}

/** Clocks that differ by less than this agree, in milliseconds. */
const SAME_TIME_MS = 60_000;

/**
 * When a game ended, by the daemon's clock; the time when it began if the daemon does not report it.
 * @param {Item} item
 */
export function endOf(item) {
  return item.endedAt ?? timesOf(item).moment;
}

/**
 * When a game was played: the time when it arrived if known, otherwise its own time. `own` is its own time if that differs.
 * @param {Item} item
 * @returns {{moment: string, own: string}}
 */
export function timesOf({ arrivedAt, startedAt }) {
  const moment = arrivedAt ?? startedAt ?? "";
  const differs = startedAt && Math.abs(Date.parse(moment) - Date.parse(startedAt)) > SAME_TIME_MS;
  return { moment, own: differs ? startedAt : "" };
}

/**
 * Scores at the end of a game that is played for a score.
 * @param {Item} item
 * @returns {[number, number][]}
 */
function scoresOf(item) {
  const players = item.summary?.players ?? [];
  return players.flatMap((/** @type {any} */ { index, score }) => (score === undefined ? [] : [[index, score]]));
}

/**
 * Players without values, which are displayed as a dash instead of the values at the start of the game.
 * @param {Record<string, any>} settings
 * @returns {[number, Record<string, any>][]}
 */
function unknownValues(settings) {
  return (settings.players ?? []).map((/** @type {any} */ player) => [player.playerIndex, { post: {} }]);
}

/**
 * Percent and stocks of each player at the end of the game, from an item of a list.
 * @param {Record<string, {stocks?: number, percent?: number}>} standings  By player index.
 * @returns {[number, Record<string, any>][]}
 */
function lastValues(standings) {
  return Object.entries(standings).map(([index, { stocks, percent }]) => [
    Number(index),
    { post: { ...(stocks === undefined ? {} : { stocksRemaining: stocks }), ...(percent === undefined ? {} : { percent }) } },
  ]);
}

/**
 * Percent and stocks of each player at the end of the game.
 * @param {Record<string, any>} stats
 * @returns {[number, Record<string, any>][]}
 */
function lastLives(stats) {
  /** @type {Map<number, Record<string, any>>} */
  const last = new Map();
  for (const stock of stats.stocks ?? []) {
    const lost = stock.endFrame !== undefined && stock.endFrame !== null;
    const percent = stock.endPercent ?? stock.currentPercent;
    last.set(stock.playerIndex, { post: { percent, stocksRemaining: stock.count - (lost ? 1 : 0) } });
  }
  return [...last];
}
