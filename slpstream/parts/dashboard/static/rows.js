/** Displays the players of a game, in cards, details and lists alike. */

import { clone, fill, find, setAttribute, setText } from "../dom.js";
import { colourOf } from "../player_colour.js";
import { scoreOf } from "../set_score.js";
import { pointsText, stocksText } from "../slippi.js";
import { number, text } from "../texts/texts.js";

/**
 * @typedef {import("../slippi.js").Player} Player
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 */

/** More stocks than this are shown as a number. */
const MAX_DOTS = 6;

/**
 * @param {HTMLElement} list
 * @param {Player[]} players
 * @param {number[]} winners  Player indexes.
 * @param {SetScore | null} [set]  The set that the game belongs to.
 */
export function showPlayers(list, players, winners, set = null) {
  const make = () => clone("player-row");
  fill(list, players, make, (row, player) => {
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
  setText(badge, score === null ? "" : number(score));
  setAttribute(badge, "title", text("games.set_score"));
  row.dataset.index = String(player.index);
  row.dataset.colour = colourOf(player);
  row.classList.toggle("out", player.stocks === 0);
  row.classList.toggle("won", won);
  setText(find(".name", row), player.name);
  setText(find(".character", row), player.character);
  setText(find(".dots", row), dotsOf(player));
  setText(find(".stocks .hidden", row), player.stocks === null ? pointsOf(player) : stocksText(player.stocks));
  setText(find(".percent", row), player.stocks === 0 ? text("games.out") : percentText(player.percent));
}

/** The stocks of a player as dots, or else the points. @param {Player} player */
export function dotsOf(player) {
  const { stocks, startStocks } = player;
  if (stocks === null) {
    return pointsOf(player);
  }
  const total = Math.min(MAX_DOTS, startStocks ?? 0);
  return stocks > MAX_DOTS ? `×${number(stocks)}` : "●".repeat(stocks) + "○".repeat(Math.max(0, total - stocks));
}

/** @param {Player} player */
function pointsOf({ points }) {
  return points === null ? "" : pointsText(points);
}

/** @param {Player["percent"]} percent */
function percentText(percent) {
  return percent === undefined ? "" : percent === null ? "–" : `${percent}%`;
}
