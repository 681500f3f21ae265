/** Names and score of a set for the players of a game. It does not touch the page. */

import { text } from "./texts/texts.js";

/**
 * @typedef {import("./slpstream_types.js").SetScore} SetScore
 * @typedef {import("./slpstream_types.js").SetPlayer} SetPlayer
 *
 * @typedef {object} GamePlayer  A player in a game.
 * @property {number} index
 * @property {number} port
 * @property {string} name
 * @property {string} connectCode
 *
 * @typedef {{team: string}} Side  A player with a team; empty in a game without teams.
 */

/**
 * The index of a game's player in the players of the set, or -1. Players are matched by player index, else by port, else by
 * connect code or name; players with different connect codes never match.
 * @param {SetScore | null} set
 * @param {GamePlayer} player
 */
function indexInSet(set, player) {
  return (set?.players ?? []).findIndex(({ playerIndex, port, connectCode, name }) => {
    if (connectCode && player.connectCode && connectCode !== player.connectCode) {
      return false;
    }
    if (playerIndex !== undefined) {
      return playerIndex === player.index;
    }
    if (port !== undefined) {
      return port === player.port;
    }
    return Boolean(connectCode) && connectCode === player.connectCode || Boolean(name) && name === player.name;
  });
}

/**
 * The set of a game; `null` if the game belongs to another set, with other names and scores. A game that has just begun may not
 * be listed yet, and belongs to the set unless that is over.
 * @param {Pick<import("./slpstream.js").Game, "gameId" | "end"> | null} game
 * @param {SetScore | null} set  The newest set of the station.
 * @returns {SetScore | null}
 */
export function setOf(game, set) {
  const { games = [], state } = set ?? {};
  if (game === null || (games.length === 0 && state !== "upcoming")) {
    return set; // the set does not list its games
  }
  const isListed = games.some((each) => [each, ...(each.suddenDeaths ?? [])].some(({ gameId }) => gameId === game.gameId));
  return isListed || (game.end === null && state !== "over") ? set : null;
}

/**
 * Games won in the set; `null` if unknown.
 * @param {SetScore | null} set
 * @param {GamePlayer} player
 * @returns {number | null}
 */
export function scoreOf(set, player) {
  const index = indexInSet(set, player);
  return index === -1 ? null : (set?.players[index].score ?? set?.score?.[index] ?? null);
}

/**
 * A game's player in the set, or `null`.
 * @param {SetScore | null} set
 * @param {GamePlayer} player
 * @returns {SetPlayer | null}
 */
export function playerInSet(set, player) {
  return set?.players[indexInSet(set, player)] ?? null;
}

/**
 * The name that the set has for a player, or an empty string.
 * @param {SetScore | null} set
 * @param {GamePlayer} player
 */
export function nameOf(set, player) {
  return set?.players[indexInSet(set, player)]?.name ?? "";
}

/**
 * The player indexes of the side that the operator has made the winner of a game; `null` if the game's own result is valid.
 * @param {SetScore | null} set
 * @param {string} gameId
 * @returns {number[] | null}
 */
export function chosenWinners(set, gameId) {
  const game = set?.games?.find((each) => [each, ...(each.suddenDeaths ?? [])].some((part) => part.gameId === gameId));
  const chosen = game?.operator?.winner;
  const side = game?.players.find(({ playerIndex }) => playerIndex === chosen)?.side;
  return game === undefined || side === undefined
    ? null
    : game.players.filter((player) => player.side === side).map(({ playerIndex }) => playerIndex);
}

/**
 * The length of the set in words, or that it is a crew battle; empty if unknown.
 * @param {SetScore | null} set
 */
export function lengthText(set) {
  if (set?.crewBattle !== undefined) {
    return text("set.crew_battle");
  }
  return set?.bestOf === undefined ? "" : text("set.best_of", { games: set.bestOf });
}

/**
 * The winner of the set and the score, the winner's first; empty until it is over, and for a tie.
 * @param {SetScore | null} set
 */
export function wonText(set) {
  const { state, winner, sides = [] } = set ?? {};
  if (state !== "over" || winner === undefined || sides[winner] === undefined) {
    return "";
  }
  const { name, players = [] } = sides[winner];
  const ports = players.map((index) => set?.players.find(({ playerIndex }) => playerIndex === index)?.port ?? index + 1);
  const who = name ?? ports.map((port) => text("set.port", { port })).join(" & ");
  const others = sides.filter((_, i) => i !== winner).map(({ score }) => score);
  const score = [sides[winner].score, ...others].join("–");
  return text("set.won", { name: who, score, count: players.length });
}

/**
 * Players in the order in which the sides of their set are shown.
 * @template {Side} T
 * @param {T[]} players  In the order of their ports.
 * @param {SetScore | null} set
 * @returns {T[]}
 */
export function inShownOrder(players, set) {
  if (!set?.swapped) {
    return players;
  }
  const left = players.filter((player, i) => isLeft(players, player, i));
  return [...players.filter((player) => !left.includes(player)), ...left];
}

/**
 * Whether a player is on the left side: in a team game that of the first player's team, otherwise the first half.
 * @param {readonly Side[]} all
 * @param {Side} player
 * @param {number} i
 */
export function isLeft(all, player, i) {
  const [first] = all;
  return first.team === "" ? i < Math.ceil(all.length / 2) : player.team === first.team;
}
