/** The players of a game or a set, as scenes show them. It does not touch the page. */

import { inShownOrder, isLeft, playerInSet, scoreOf } from "../set_score.js";
import { FORMAT, gamePlayers, playerOfSet } from "../slippi.js";
import { summaryPlayers } from "../summary.js";

/**
 * @typedef {import("../slippi.js").Player} Player
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 *
 * @typedef {object} Details   An operator's details of a player, as in `docs/howto/sets.md`.
 * @property {string} sponsor  Empty if unknown, like the other details.
 * @property {string} tag      The name without the sponsor.
 * @property {string} pronouns
 * @property {number | null} seed
 *
 * @typedef {Player & Details} Person
 */

/** Tournament software writes the sponsor before the tag in one name, with one of these between them. */
const SEPARATOR = /\s+[|｜]\s+/u;

/**
 * Splits a name such as `Golden Guardians | Zain`.
 * @param {string} name
 * @returns {{sponsor: string, tag: string}}
 */
export function splitName(name) {
  const parts = name.split(SEPARATOR);
  const tag = parts.pop() ?? "";
  return tag === "" || parts.length === 0 ? { sponsor: "", tag: name } : { sponsor: parts.join(" | "), tag };
}

/**
 * @param {Player} player
 * @param {SetScore | null} set
 * @returns {Person}
 */
function person(player, set) {
  const { sponsor: own = "", pronouns = "", seed = null } = playerInSet(set, player) ?? {};
  const split = own === "" ? splitName(player.name) : { sponsor: own, tag: player.name };
  return { ...player, ...split, pronouns, seed };
}

/**
 * The players of a game, or those of the set if there is no game. They are in the order of the ports, except that a set
 * can be shown with its second side on the left.
 * @param {Game | null} game
 * @param {SetScore | null} set
 * @returns {Person[]}
 */
export function peopleOf(game, set) {
  const players = game === null
    ? (set?.players ?? []).map(playerOfSet).sort((one, other) => one.port - other.port)
    : game.format === FORMAT ? gamePlayers(game, set) : summaryPlayers(game, set);
  return inShownOrder(players.map((player) => person(player, set)), set);
}

/**
 * The players that the option `players` selects.
 * @template {Player} T
 * @param {readonly T[]} all
 * @param {import("../scene_options.js").SceneOptions["players"]} selection
 */
export function selected(all, selection) {
  if (selection === "left" || selection === "right") {
    return all.filter((player, i) => isLeft(all, player, i) === (selection === "left"));
  }
  return selection === "all" ? [...all] : all.filter((player) => selection.includes(player.port));
}

/**
 * The two sides of a picture, each with its people and score; empty without people. With more than two sides without
 * teams, the first half of the players is the left side.
 * @param {readonly Person[]} people
 * @param {SetScore | null} set
 * @returns {{people: Person[], score: number | null}[]}
 */
export function sidesOf(people, set) {
  if (people.length === 0) {
    return [];
  }
  const left = people.filter((player, i) => isLeft(people, player, i));
  const right = people.filter((player) => !left.includes(player));
  return [left, right].map((side) => ({ people: side, score: side.length === 0 ? null : scoreOf(set, side[0]) }));
}

/**
 * The names of people in one line.
 * @param {readonly Person[]} people
 */
export function namesOf(people) {
  return people.map(({ tag }) => tag).join(" & ");
}

/**
 * Whether a scene can show something of a game: every Melee game, and others whose summary lists players.
 * @param {Game | null} game
 */
export function canShow(game) {
  return game !== null && (game.format === FORMAT || game.summary?.players !== undefined);
}
