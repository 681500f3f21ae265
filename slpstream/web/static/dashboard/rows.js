/** How stations, players and games are written, in cards, details and lists alike. */

import { scoreOf } from "../set_score.js";
import { FORMAT, clock, players, resultText, stageName, stocksText } from "../slippi.js";
import { summaryOutcome, summaryPlayers, thingText } from "../summary.js";
import { clone, colourOf, fill, find, setAttribute, setText } from "./dom.js";

/**
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {import("../slippi.js").Player} Player
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 */

/** More than these are shown as a number. */
const MOST_DOTS = 6;

/**
 * @param {HTMLElement} list
 * @param {Player[]} everybody
 * @param {number[]} winners  Player indexes.
 * @param {SetScore | null} [set]  The set that the game is part of.
 */
export function showPlayers(list, everybody, winners, set = null) {
  const make = () => clone("player-row");
  fill(list, everybody, make, (row, player) => {
    showPlayer(row, player, winners.includes(player.index), scoreOf(set, player));
  });
}

/**
 * @param {HTMLElement} row
 * @param {Player} player
 * @param {boolean} won
 * @param {number | null} score
 */
function showPlayer(row, player, won, score) {
  const badge = find(".score", row);
  badge.hidden = score === null;
  setText(badge, score === null ? "" : String(score));
  setAttribute(badge, "title", "Games won in the set");
  row.dataset.index = String(player.index);
  row.dataset.colour = colourOf(player);
  row.classList.toggle("out", player.stocks === 0);
  row.classList.toggle("won", won);
  setText(find(".name", row), player.name);
  setText(find(".character", row), player.character);
  const many = player.stocks !== null && player.stocks > MOST_DOTS;
  const [left, all] = [player.stocks ?? 0, Math.min(MOST_DOTS, player.startStocks ?? 0)];
  const dots = "●".repeat(left) + "○".repeat(Math.max(0, all - left));
  setText(find(".dots", row), many ? `×${player.stocks}` : player.stocks === null ? "" : dots);
  setText(find(".stocks .hidden", row), player.stocks === null ? "" : stocksText(player.stocks));
  setText(find(".percent", row), player.stocks === 0 ? "out" : percentText(player.percent));
}

/** @param {Player["percent"]} percent */
function percentText(percent) {
  return percent === undefined ? "" : percent === null ? "–" : `${percent}%`;
}

/**
 * Whether the page knows the format and has the settings of the game. Games of a list come without their settings.
 * @param {Game | null} game
 * @returns {game is Game}
 */
function isKnown(game) {
  return game?.format === FORMAT && game.settings.players !== undefined;
}

/**
 * What a game is called: the stage, the course, the track.
 * @param {Game} game
 */
export function placeName(game) {
  if (isKnown(game)) {
    return stageName(game);
  }
  const place = thingText(game.summary?.place);
  return game.format === FORMAT ? place : [game.format.toUpperCase(), place].filter(Boolean).join(" · ");
}

/** @param {Game} game */
export function clockText(game) {
  return isKnown(game) ? clock(game) : "";
}

/**
 * @param {Game | null} game
 * @param {SetScore | null} [set]  The set that the game is part of.
 */
export function playersOf(game, set = null) {
  return isKnown(game) ? players(game, set) : game === null ? [] : summaryPlayers(game, set);
}

/**
 * Who played, in a line.
 * @param {Game} game
 * @param {Player[]} everybody
 */
export function whoText(game, everybody) {
  return game.summary?.who || versus(everybody);
}

/**
 * Player indexes.
 * @param {Game | null} game
 */
export function winnersOf(game) {
  if (isKnown(game)) {
    return (game.end?.winners ?? []).map((winner) => winner.playerIndex);
  }
  return game === null || game.end === null ? [] : (game.summary?.winners ?? []);
}

/**
 * How a game came out, in words; empty while it goes on, and when nothing says it.
 * @param {Game} game
 * @param {SetScore | null} [set]  The set that the game is part of.
 */
export function resultOf(game, set = null) {
  if (isKnown(game)) {
    return resultText(game, set);
  }
  return summaryOutcome(game, set) || (game.format === FORMAT && game.end !== null ? "Game over" : "");
}

/** @param {Player[]} everybody */
export function versus(everybody) {
  const teams = [...new Set(everybody.map((player) => player.team))];
  const name = (/** @type {Player} */ player) => player.name;
  if (teams.length > 1) {
    const side = (/** @type {string} */ team) => everybody.filter((player) => player.team === team).map(name).join(" and ");
    return teams.map(side).join(" against ");
  }
  return everybody.map(name).join(everybody.length > 2 ? ", " : " against ");
}
