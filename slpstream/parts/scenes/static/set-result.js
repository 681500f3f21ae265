/** The result of a set, `/scenes/set-result/{station}`: the score, the games with their stages, and how it was decided. */

import { attackName, loadAttackNames } from "../attacks.js";
import { make } from "../dom.js";
import { killsOf } from "../kills.js";
import { playerOfSet } from "../slippi.js";
import { number, text } from "../texts/texts.js";
import { aligned, coloured, fitted, heading, lengthOf, openBoard, pictureOf, plate, rebuild, stagePlate } from "./boards.js";
import { currentStation } from "./page.js";
import { peopleOf } from "./people.js";
import { changeWords, gainWords, lengthWords, setWords, sideWords, stageOf, stocksWords } from "./words.js";

/**
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 * @typedef {import("../slpstream_types.js").SetGame} SetGame
 */

/** Below more games, there is only room for the turning point. */
const MAX_GAMES_WITH_BOTH = 5;

openBoard({ draw });
loadAttackNames();

/** @param {import("./boards.js").Board} board */
function draw({ element, options, state, results }) {
  const { set } = state.view;
  const games = (set?.games ?? []).filter(({ counts }) => counts);
  if (set === null || (set.sides ?? []).length < 2 || (games.length === 0 && set.state !== "over")) {
    return false;
  }
  const last = games[games.length - 1];
  const stats = set.state === "over" && last !== undefined ? results.stats(last.gameId) : null;
  const decisive = stats === null ? "" : decisiveWords(set, last, stats);
  const turning = options.odds ? turningWords(set, games, results) : "";
  rebuild(element, [set, decisive, turning], () => {
    const sides = (set.sides ?? []).map((side, i) => ({ ...side, i }));
    if (set.swapped) {
      sides.reverse();
    }
    const people = peopleOf(null, set);
    const [left, right] = sides.map(({ i, score, players }, place) => {
      const won = set.winner === i;
      const name = place === 0 ? "left" : "right";
      const members = people.filter(({ index }) => players.includes(index));
      const box = make(`section.side.${name}${won ? ".won" : ""}`, ...members.map((person) => plate(person)));
      const points = make("p.score", number(score));
      if (members.length > 0) {
        coloured(box, members[0]);
      }
      box.append(points);
      return box;
    });
    const title = setWords(set) || text("scene.set_so_far");
    const rows = games.map((game, i) => gameRow(set, game, i + 1 + (set.olderGames ?? 0)));
    const parts = [
      heading(set, lengthWords(set)),
      fitted("h1.name.title", title),
      aligned(make("div.sides", left, right)),
      make("ol.games", ...rows),
    ];
    if (decisive !== "" && (turning === "" || games.length <= MAX_GAMES_WITH_BOTH)) {
      parts.push(make("p.decisive", make("span.title", text("scene.decisive")), make("span.words", decisive)));
    }
    if (turning !== "") {
      parts.push(make("p.decisive.turning", make("span.title", text("scene.turning_point")), make("span.words", turning)));
    }
    return parts;
  });
  return true;
}

/**
 * @param {SetScore} set
 * @param {SetGame} game
 * @param {number} place  Counted from 1.
 */
function gameRow(set, game, place) {
  const won = game.players.filter(({ side }) => side === game.winner);
  const pictures = won.map(({ characterId = -1, characterColor = 0 }) =>
    pictureOf({ characterId, costumeIndex: characterColor }),
  );
  const stocks = won.reduce((sum, player) => sum + (player.stocks ?? 0), 0);
  const row = make(
    "li.set-game",
    make("span.number", text("scene.game_number", { number: String(place) })),
    stagePlate(game.stageId, stageOf(game.stageId)),
    make("span.pictures", ...pictures),
    fitted("span.name", game.winner === undefined ? "" : sideWords(set, game.winner)),
    make("span.stocks-left", won.some((player) => player.stocks !== undefined) ? stocksWords(stocks) : ""),
    make("span.time", lengthOf(game.durationSeconds)),
    make("span.running", game.score.map((score) => number(score)).join("–")),
  );
  const first = won[0];
  return first === undefined ? row : coloured(row, playerOfSet({ ...set.players.find(({ side }) => side === first.side), ...first, name: "" }));
}

/**
 * The largest swing of the odds in words; empty if it is not known.
 * @param {SetScore} set
 * @param {SetGame[]} games
 * @param {import("./results.js").Results} results
 */
function turningWords(set, games, results) {
  const found = results.turningPointOfSet(currentStation(), games.map(({ gameId }) => gameId));
  const place = games.findIndex(({ gameId }) => gameId === found?.gameId);
  const by = games[place]?.players.find(({ playerIndex }) => playerIndex === found?.turningPoint.playerIndex);
  if (found === null || by === undefined) {
    return "";
  }
  const game = text("scene.game_number", { number: String(place + 1 + (set.olderGames ?? 0)) });
  return [game, gainWords(sideWords(set, by.side), found.turningPoint), changeWords(found.turningPoint)].join(" · ");
}

/**
 * The kill that ended the set, in words; empty if it is not known.
 * @param {SetScore} set
 * @param {SetGame} game
 * @param {import("../slpstream_types.js").Stats} stats
 */
function decisiveWords(set, game, stats) {
  const kills = killsOf(stats);
  const kill = kills[kills.length - 1];
  const by = game.players.find(({ playerIndex }) => playerIndex === kill?.by);
  if (kill === undefined || by === undefined) {
    return "";
  }
  const values = {
    name: sideWords(set, by.side),
    move: attackName(kill.moveId),
    percent: String(Math.floor(kill.percent)),
    stage: stageOf(game.stageId),
  };
  return text("scene.decisive_kill", values);
}
