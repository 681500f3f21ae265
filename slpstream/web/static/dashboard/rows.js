/** How stations, players and games are written, in cards, details and lists alike. */

import { FORMAT, clock, players, stageName, stocksText } from "../slippi.js";
import { colourOf, fill, find, clone, setText } from "./dom.js";

/**
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {import("../slippi.js").Player} Player
 */

/** More than these are shown as a number. */
const MOST_DOTS = 6;

/**
 * @param {HTMLElement} list
 * @param {Player[]} everybody
 * @param {number[]} winners  Player indexes.
 */
export function showPlayers(list, everybody, winners) {
  fill(list, everybody, () => clone("player-row"), (row, player) => showPlayer(row, player, winners.includes(player.index)));
}

/**
 * @param {HTMLElement} row
 * @param {Player} player
 * @param {boolean} won
 */
function showPlayer(row, player, won) {
  row.dataset.index = String(player.index);
  row.dataset.colour = colourOf(player);
  row.classList.toggle("out", player.stocks === 0);
  row.classList.toggle("won", won);
  setText(find(".name", row), player.name);
  setText(find(".character", row), player.character);
  const many = player.stocks !== null && player.stocks > MOST_DOTS;
  const [left, all] = [player.stocks ?? 0, Math.min(MOST_DOTS, player.startStocks ?? 0)];
  setText(find(".dots", row), many ? `×${player.stocks}` : player.stocks === null ? "" : "●".repeat(left) + "○".repeat(Math.max(0, all - left)));
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
  return [game.format.toUpperCase(), course?.name ?? track?.name ?? (typeof track === "string" ? track : "")].filter(Boolean).join(" · ");
}

/** @param {Game} game */
export function clockText(game) {
  return game.format === FORMAT ? clock(game) : "";
}

/** @param {Game | null} game */
export function playersOf(game) {
  return game?.format === FORMAT ? players(game) : [];
}

/** @param {Game | null} game */
export function winnersOf(game) {
  return (game?.end?.winners ?? []).map((winner) => winner.playerIndex);
}

/**
 * @param {Player[]} everybody
 * @param {number[]} winners
 */
export function resultText(everybody, winners) {
  const names = everybody.filter((player) => winners.includes(player.index)).map((player) => player.name);
  return names.length ? `${names.join(" and ")} ${names.length === 1 ? "wins" : "win"}` : "No winner";
}

/** @param {Player[]} everybody */
export function versus(everybody) {
  const teams = [...new Set(everybody.map((player) => player.team))];
  const name = (/** @type {Player} */ player) => player.name;
  if (teams.length > 1) {
    return teams.map((team) => everybody.filter((player) => player.team === team).map(name).join(" and ")).join(" against ");
  }
  return everybody.map(name).join(everybody.length > 2 ? ", " : " against ");
}
