/** Sides, games and changes of a set in words. */

import { date, hasText, language, text } from "../texts/texts.js";

/**
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 * @typedef {import("../slpstream_types.js").SetSide} SetSide
 * @typedef {import("../slpstream_types.js").SetGame} SetGame
 * @typedef {import("../slpstream_types.js").SetPlayer} SetPlayer
 *
 * @typedef {object} ChangedValue
 * @property {string} field
 * @property {any} [from]
 * @property {any} [to]
 * @property {string} [player]
 * @property {number} [port]
 * @property {string} [gameId]
 * @property {number} [game]    Number of the game in its set.
 *
 * @typedef {object} Change     As `/v1/stations/{station}/set/changes` lists it.
 * @property {number} id
 * @property {string} at
 * @property {string} [by]
 * @property {ChangedValue[]} values
 * @property {number} [undoes]
 * @property {number} [undoneBy]
 * @property {number} [blockedBy]
 */

const NO_VALUE = "–";
/** Values that are words rather than numbers or names, by field. */
const WORDED = ["counts", "beginsSet", "swapped", "sides"];

/**
 * @param {SetSide} side
 * @param {SetPlayer[]} players
 */
export function sideName(side, players) {
  const members = players.filter(({ playerIndex }) => side.players.includes(playerIndex ?? -1));
  return side.name ?? members.map(({ name, port = 1 }) => name ?? text("panel.port", { port })).join(" & ");
}

/**
 * The reason why a game counts or does not count. The daemon's sentence is more detailed, but in English.
 * @param {SetGame} game
 */
export function reasonOf({ verdict, reason }) {
  const key = `panel.verdict_${verdict}`;
  return language === "en" || !hasText(key) ? reason : text(key);
}

/**
 * @param {Change} change
 * @param {SetScore} set  The current set, for the names of winners.
 */
export function changeText({ values }, set) {
  return values.map((value) => valueText(value, set)).join("; ") || text("panel.no_difference");
}

/** The time of day, with the date if that is not today. @param {string} at */
export function momentText(at) {
  const moment = new Date(at);
  const isToday = new Date().toDateString() === moment.toDateString();
  return date(moment, { timeStyle: "medium", ...(isToday ? {} : { dateStyle: "short" }) });
}

/**
 * @param {ChangedValue} value
 * @param {SetScore} set
 */
function valueText(value, set) {
  if (value.field === "newSet") {
    return text(value.to ? "panel.field_newSet" : "panel.field_newSet_undone");
  }
  const who = value.player ?? text("panel.port", { port: value.port ?? 1 });
  const number = value.game ?? "?";
  const what = text(`panel.field_${value.field}`, { who, number });
  return text("panel.change", { what, from: valueName(value, value.from, set), to: valueName(value, value.to, set) });
}

/**
 * @param {ChangedValue} value
 * @param {any} said
 * @param {SetScore} set
 */
function valueName({ field, gameId }, said, set) {
  if (WORDED.includes(field)) {
    return text(`panel.${field}_${said === undefined || said === false ? String(said ?? "none") : "yes"}`);
  }
  if (field === "winner") {
    return said === undefined ? text("panel.automatic") : winnerName(gameId, said, set);
  }
  return said === undefined ? NO_VALUE : Array.isArray(said) ? said.join(", ") : String(said);
}

/**
 * @param {string | undefined} gameId
 * @param {number} playerIndex
 * @param {SetScore} set
 */
function winnerName(gameId, playerIndex, set) {
  const game = set.games?.find((each) => each.gameId === gameId);
  const place = game?.players.find((player) => player.playerIndex === playerIndex)?.side;
  const side = place === undefined ? undefined : set.sides?.[place];
  return side === undefined ? text("panel.port", { port: playerIndex + 1 }) : sideName(side, set.players);
}
