/** The result of the last game, `/scenes/game-result/{station}`: percents over time, kills, openings per kill, stage. */

import { attackName, loadAttackNames } from "../attacks.js";
import { make } from "../dom.js";
import { killsOf } from "../kills.js";
import { PercentHistory } from "../match.js";
import { setOf } from "../set_score.js";
import { minutesText, timerStart } from "../slippi.js";
import { text } from "../texts/texts.js";
import { aligned, coloured, figure, heading, lengthOf, openBoard, plate, rebuild } from "./boards.js";
import { percentChart } from "./chart.js";
import { currentStation } from "./page.js";
import { canShow, peopleOf, sidesOf } from "./people.js";
import { changeWords, placeWords, resultWords, stocksWords, winnersOf } from "./words.js";

/**
 * @typedef {import("./people.js").Person} Person
 * @typedef {import("../slpstream_types.js").Stats} Stats
 */

const MAX_KILLS = 8;

openBoard({ draw });
loadAttackNames();

/** @param {import("./boards.js").Board} board */
function draw({ element, options, state, results }) {
  const { set: newest, game: current } = state.view;
  const gameId = state.lastGameId ?? results.newest(currentStation());
  if (gameId === "") {
    return false;
  }
  const game = results.known(gameId, current);
  if (game === null || !canShow(game) || game.end === null) {
    return false;
  }
  const stats = game.format === "slippi" ? results.stats(gameId) : null;
  const turn = options.odds && stats !== null ? results.turningPoint(gameId) : null;
  const set = setOf(game, newest);
  const people = peopleOf(game, set);
  const won = winnersOf(game, set);
  const { lastFrame = 0 } = stats ?? {};
  const names = people.map(({ name, sponsor, character }) => [name, sponsor, character]);
  const shown = [gameId, names, won, game.end.durationSeconds, lastFrame, set?.games?.length, newest?.event, set?.round, turn];
  rebuild(element, shown, () => {
    const place = (set?.games ?? []).findIndex((each) => each.gameId === gameId);
    const which = place === -1 ? "" : text("scene.game_number", { number: String(place + 1 + (set?.olderGames ?? 0)) });
    const [left, right] = sidesOf(people, set).map((side, i) =>
      make(
        `section.side.${i === 0 ? "left" : "right"}`,
        ...side.people.map((person) => playerColumn(person, stats, people, won.includes(person.index))),
      ),
    );
    const parts = [heading(newest === null ? null : { ...newest, round: set?.round }, which, placeWords(game), lengthOf(game.end?.durationSeconds))];
    const middle = make("section.middle", make("p.outcome", resultWords(game, set)));
    if (stats !== null) {
      middle.append(...turningPoint(turn, people, stats));
      middle.append(percentChart(PercentHistory.fromStats(stats), people, stats.lastFrame), comparison(stats, sidesOf(people, set)));
    }
    return [...parts, aligned(make("div.columns", left, middle, right))];
  });
  return true;
}

/**
 * The line about the largest swing of the odds.
 * @param {ReturnType<import("./results.js").Results["turningPoint"]>} turn
 * @param {Person[]} people
 * @param {Stats} stats
 */
function turningPoint(turn, people, stats) {
  const person = people.find(({ index }) => index === turn?.playerIndex);
  if (turn === null || person === undefined) {
    return [];
  }
  return [
    make(
      "p.turning-point",
      make("span.title", text("scene.turning_point")),
      make("span.time", minutesText(Math.max(0, turn.startFrame - timerStart(stats)) / 60)),
      make("bdi.who", person.tag),
      make("span.swing", changeWords(turn)),
    ),
  ];
}

/**
 * @param {Person} person
 * @param {Stats | null} stats
 * @param {Person[]} people
 * @param {boolean} won
 */
function playerColumn(person, stats, people, won) {
  const column = coloured(make(won ? "article.column.won" : "article.column", plate(person)), person);
  const standing = make("p.standing");
  column.append(standing);
  if (won) {
    standing.append(make("span.tag", text("scene.winner")));
  }
  if (stats === null) {
    return column;
  }
  const lives = stats.stocks.filter(({ playerIndex }) => playerIndex === person.index);
  const last = lives[lives.length - 1];
  const left = last === undefined ? null : last.endFrame === undefined ? last.count : last.count - 1;
  if (typeof left === "number") {
    standing.append(make("span.stocks-left", stocksWords(left)));
  }
  const kills = killsOf(stats).filter(({ by }) => by === person.index).slice(-MAX_KILLS);
  const rows = kills.map(({ frame, victim, moveId, percent }) => {
    const other = people.find(({ index }) => index === victim);
    const whom = people.length > 2 ? ` ${other?.tag ?? ""}` : "";
    return make(
      "li.kill",
      make("span.time", minutesText(Math.max(0, frame - timerStart(stats)) / 60)),
      make("span.move", attackName(moveId) + whom),
      make("span.at", `${Math.floor(percent)}%`),
    );
  });
  column.append(make("h2", text("scene.kills")), make("ol.kills", ...rows));
  if (rows.length === 0) {
    column.append(make("p.none", text("scene.no_kills")));
  }
  return column;
}

/**
 * The figures of both sides, next to each other.
 * @param {Stats} stats
 * @param {{people: Person[]}[]} sides
 */
function comparison(stats, sides) {
  const overall = (/** @type {Person} */ { index }) => stats.overall.find(({ playerIndex }) => playerIndex === index) ?? {};
  const sum = (/** @type {Person[]} */ people, /** @type {(each: any) => number} */ value) =>
    people.reduce((total, person) => total + (value(overall(person)) ?? 0), 0);
  const ratio = (/** @type {Person[]} */ people, /** @type {string} */ name) => {
    const total = sum(people, (each) => each[name]?.total ?? 0);
    return total === 0 ? null : sum(people, (each) => each[name]?.count ?? 0) / total;
  };
  const rows = /** @type {[string, (people: Person[]) => string][]} */ ([
    [text("scene.damage"), (people) => `${figure(sum(people, (each) => each.totalDamage))}%`],
    [text("scene.openings_per_kill"), (people) => figure(ratio(people, "openingsPerKill"), 1)],
    [text("scene.damage_per_opening"), (people) => `${figure(ratio(people, "damagePerOpening"), 1)}%`],
    [text("scene.neutral_wins"), (people) => figure(sum(people, (each) => each.neutralWinRatio?.count ?? 0))],
  ]);
  const [left, right] = sides.map(({ people }) => people);
  return make(
    "dl.comparison",
    ...rows.map(([name, value]) => make("div.row", make("dd.left", value(left)), make("dt", name), make("dd.right", value(right)))),
  );
}
