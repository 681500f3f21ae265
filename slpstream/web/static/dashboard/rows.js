/** Displays players and games, in cards, details and lists alike. */

import { clone, fill, find, setAttribute, setText } from "../dom.js";
import { colourOf } from "../player_colour.js";
import { inShownOrder } from "../scenes/people.js";
import { chosenWinners, scoreOf } from "../set_score.js";
import { FORMAT, clock, gamePlayers, pointsText, resultText, stageName, stocksText } from "../slippi.js";
import { outcomeText, summaryOutcome, summaryPlayers, thingText } from "../summary.js";
import { number, text } from "../texts/texts.js";

/**
 * @typedef {import("../slpstream.js").Game} Game
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
  const many = player.stocks !== null && player.stocks > MAX_DOTS;
  const [left, total] = [player.stocks ?? 0, Math.min(MAX_DOTS, player.startStocks ?? 0)];
  const dots = "●".repeat(left) + "○".repeat(Math.max(0, total - left));
  const points = player.points === null ? "" : pointsText(player.points);
  setText(find(".dots", row), many ? `×${number(player.stocks ?? 0)}` : player.stocks === null ? points : dots);
  setText(find(".stocks .hidden", row), player.stocks === null ? points : stocksText(player.stocks));
  setText(find(".percent", row), player.stocks === 0 ? text("games.out") : percentText(player.percent));
}

/** @param {Player["percent"]} percent */
function percentText(percent) {
  return percent === undefined ? "" : percent === null ? "–" : `${percent}%`;
}

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
