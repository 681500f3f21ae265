/** Results, scores and lengths in words of the reader's language. */

import { FORMAT, stageName, stageOf } from "../slippi.js";
import { chosenWinners } from "../set_score.js";
import { thingText } from "../summary.js";
import { hasText, number, text } from "../texts/texts.js";
import { peopleOf, splitName } from "./people.js";

/**
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 * @typedef {import("./people.js").Person} Person
 */

const NO_CONTEST = 7;
/** Number of characters of both crews' names that fit between the players. */
const MAX_CREW_NAMES = 24;

/**
 * The length of a set; of a crew battle the crews, if their names are short. Empty if unknown.
 * @param {SetScore | null} set
 */
export function lengthWords(set) {
  if (set?.crewBattle !== undefined) {
    const names = set.crewBattle.crews.map(({ name }) => name);
    const shown = (set.swapped ? names.reverse() : names).join(" – ");
    return names.every(Boolean) && shown.length <= MAX_CREW_NAMES ? shown : text("scene.crew_battle");
  }
  return set?.bestOf === undefined ? "" : text("scene.best_of", { count: set.bestOf });
}

/**
 * The number of the game that comes next, in words; empty without a set, after its end, and in a crew battle.
 * @param {SetScore | null} set
 */
export function nextGameWords(set) {
  if (set === null || set.state === "over" || set.crewBattle !== undefined) {
    return "";
  }
  const played = (set.games ?? []).filter(({ counts, verdict }) => counts && verdict !== "playing").length;
  return text("scene.next_game", { number: String(played + (set.olderGames ?? 0) + 1) });
}

/**
 * The scores of a set's sides, the highest first if it is over.
 * @param {SetScore | null} set
 */
export function scoreWords(set) {
  const scores = (set?.sides ?? []).map(({ score }) => score);
  const winner = set?.winner;
  if (winner !== undefined) {
    scores.unshift(...scores.splice(winner, 1));
  }
  return scores.map((score) => number(score)).join("–");
}

/**
 * Who has gained by a swing of the odds, and with how much damage; the damage of a stock that was lost without a conversion is 0.
 * @param {string} name
 * @param {{damage: number}} turn
 */
export function gainWords(name, { damage }) {
  return damage > 0 ? text("scene.damage_dealt", { name, percent: String(Math.floor(damage)) }) : name;
}

/**
 * How the chance of a player to win has changed.
 * @param {{before: number, after: number}} chances  From 0 to 1.
 */
export function changeWords({ before, after }) {
  return [before, after].map((chance) => number(chance, { style: "percent" })).join(" → ");
}

/**
 * The name of a side without sponsors; without names, the ports of its players.
 * @param {SetScore} set
 * @param {number} side
 */
export function sideWords(set, side) {
  const { name, players = [] } = set.sides?.[side] ?? {};
  const ports = players.map((index) => set.players.find(({ playerIndex }) => playerIndex === index)?.port ?? index + 1);
  const tags = name?.split(" & ").map((part) => splitName(part).tag).join(" & ");
  return tags ?? ports.map((port) => text("scene.port", { port: String(port) })).join(" & ");
}

/**
 * The winner of the set and the score, the winner's first; empty until it is over, and for a tie.
 * @param {SetScore | null} set
 */
export function setWords(set) {
  const { state, winner, sides = [] } = set ?? {};
  if (set === null || state !== "over" || winner === undefined || sides[winner] === undefined) {
    return "";
  }
  const values = { name: sideWords(set, winner), score: scoreWords(set) };
  return sides[winner].players.length > 1 ? text("scene.team_wins_set", values) : text("scene.wins_set", values);
}

/**
 * The result of a finished game; empty while it is not over.
 * @param {Game | null} game
 * @param {SetScore | null} set
 */
export function resultWords(game, set) {
  if (game === null || game.end === null) {
    return "";
  }
  const indexes = winnersOf(game, set);
  const won = peopleOf(game, set).filter(({ index }) => indexes.includes(index));
  const tied = chosenWinners(set, game.gameId) === null && (game.end.tied || (game.summary?.tied ?? false));
  if (won.length === 0 || tied) {
    const noContest = game.end.gameEnd?.gameEndMethod === NO_CONTEST;
    return text(tied ? "scene.tie" : noContest ? "scene.no_contest" : "scene.game_over");
  }
  const [{ team, tag }] = won;
  if (team !== "") {
    return text("scene.team_wins", { team: hasText(`scene.team.${team}`) ? text(`scene.team.${team}`) : team });
  }
  return won.length === 1 ? text("scene.wins", { name: tag }) : text("scene.tie");
}

/**
 * Player indexes of the winners of a game; empty until it is over. Those that the operator has chosen take precedence.
 * @param {Game} game
 * @param {SetScore | null} set
 */
export function winnersOf(game, set) {
  if (game.end === null) {
    return [];
  }
  const chosen = chosenWinners(set, game.gameId);
  if (chosen !== null) {
    return chosen;
  }
  return game.format === FORMAT ? game.end.winners.map(({ playerIndex }) => playerIndex) : (game.summary?.winners ?? []);
}

/** @param {Game} game */
export function placeWords(game) {
  return game.format === FORMAT ? stageName(game) : thingText(game.summary?.place, game.format);
}

/** @param {number} count */
export function stocksWords(count) {
  return text("scene.stocks", { count });
}

/** @param {number} points */
export function pointsWords(points) {
  return text("scene.points", { points: `${points < 0 ? "−" : ""}${number(Math.abs(points))}` });
}

export { stageOf };
