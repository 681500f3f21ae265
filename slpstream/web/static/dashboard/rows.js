/** How stations, players and games are written, in cards, details and lists alike. */

import { scoreOf } from "../set_score.js";
import { FORMAT, clock, players, stageName, stocksText } from "../slippi.js";
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
  setText(find(".percent", row), player.stocks === 0 ? "out" : player.percent === null ? "–" : `${player.percent}%`);
}

/**
 * What a game is called: the stage, the course, the track.
 * @param {Game} game
 */
export function placeName(game) {
  if (game.format === FORMAT) {
    return stageName(game);
  }
  const { course, track } = game.settings;
  const name = course?.name ?? track?.name ?? track;
  return [game.format.toUpperCase(), typeof name === "string" ? name : ""].filter(Boolean).join(" · ");
}

/** @param {Game} game */
export function clockText(game) {
  return game.format === FORMAT ? clock(game) : "";
}

/**
 * @param {Game | null} game
 * @param {SetScore | null} [set]  The set that the game is part of.
 */
export function playersOf(game, set = null) {
  return game?.format === FORMAT ? players(game, set) : [];
}

/** @param {Game | null} game */
export function winnersOf(game) {
  return (game?.end?.winners ?? []).map((winner) => winner.playerIndex);
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
