/**
 * The matchup, `/scenes/matchup/{station}`: the earlier sets and games of the two players of a set against each other, and how
 * each of them plays. It is shown until the set is over. With `fill=1` it fills the picture.
 */

import { make } from "../dom.js";
import { FORMAT } from "../slippi.js";
import { thingText } from "../summary.js";
import { date, number, text } from "../texts/texts.js";
import { aligned, coloured, figure, fitted, heading, lengthOf, openBoard, pictureOf, plate, portraitOf, rebuild, stagePlate } from "./boards.js";
import { peopleOf, sidesOf, splitName } from "./people.js";
import { lengthWords } from "./words.js";

/**
 * @typedef {import("./people.js").Person} Person
 * @typedef {import("../slpstream_types.js").Thing} Thing
 *
 * @typedef {object} History  How a player plays, as in `/v1/stations/{station}/matchup`.
 * @property {string} name
 * @property {string} [code]
 * @property {{opponent?: string, score: [number, number], won: boolean}[]} results
 * @property {number} games
 * @property {number} [averageSeconds]
 * @property {number} [openingsPerKill]
 * @property {{stage: Thing, games: number, won: number}[]} stages
 * @property {{character: Thing, stage: Thing, games: number, won: number}} [worked]
 *
 * @typedef {object} HeadToHead  Pairs are in the order of the players.
 * @property {[number, number]} sets
 * @property {[number, number]} games
 * @property {boolean} [limited]
 * @property {{at: string, score: [number, number]}} [last]
 *
 * @typedef {{station: string, players: History[], headToHead?: HeadToHead}} Matchup
 */

const MAX_RESULTS = 3;
const MAX_STAGES = 2;
const MAX_DIGIT = 9;

/** @type {Matchup | null} */
let matchup = null;

openBoard({
  also: ["matchup"],
  take: (message) => {
    if (message.type === "matchup") {
      matchup = /** @type {any} */ (message);
    }
  },
  draw,
});

/**
 * @param {import("./boards.js").Board} board
 * @param {number} now
 */
function draw({ element, options, state }, now) {
  element.classList.toggle("filling", options.fill);
  const { game, set } = state.shown(now);
  const sides = sidesOf(peopleOf(game, set), set).map((side) => side.people);
  const people = sides.every(({ length }) => length === 1) ? sides.flat() : [];
  const order = matchup?.station === state.view.station ? people.map(placeOf) : [];
  const [first, second] = order;
  if (matchup === null || set?.state === "over" || order.length !== 2 || first + second !== 1 || !isKnown(matchup)) {
    return false;
  }
  const { players, headToHead } = matchup;
  const shown = people.map(({ percent, stocks, points, ...person }) => person);
  rebuild(element, [shown, order, players, headToHead, set?.event, set?.round, set?.bestOf], () => {
    const [left, right] = people.map((person, i) => {
      const side = make(`section.side.${i === 0 ? "left" : "right"}`, plate(person, portraitOf));
      return coloured(side, person);
    });
    return [
      heading(set, lengthWords(set)),
      aligned(make("div.sides", left, middle(headToHead, order), right)),
      make("dl.tape", ...rows(order.map((place) => players[place]))),
    ];
  });
  return state.phaseEndsAt(now) ?? true;
}

/**
 * The place of a person among the players of the matchup, or -1. They are recognised as the daemon does it.
 * @param {Person} person
 */
function placeOf({ connectCode, name }) {
  return (matchup?.players ?? []).findIndex((player) =>
    player.code && connectCode ? player.code === connectCode : player.name === name,
  );
}

/**
 * Whether a matchup has anything to show.
 * @param {Matchup} matchup
 */
function isKnown({ players, headToHead }) {
  return players.some(({ games, results }) => games + results.length > 0) || hasMet(headToHead);
}

/** @param {HeadToHead} [headToHead] */
function hasMet({ games } = { sets: [0, 0], games: [0, 0] }) {
  return games[0] + games[1] > 0;
}

/**
 * The sets that both have won, or the games if no set was decided; below it the games and the last set.
 * @param {HeadToHead | undefined} headToHead
 * @param {number[]} order  The places of the players on the left and on the right.
 */
function middle(headToHead, order) {
  if (headToHead === undefined || !hasMet(headToHead)) {
    return make("div.meetings", make("p.versus", text("scene.versus")), make("p.unit", text("scene.never_met")));
  }
  const { sets, games, limited = false, last } = headToHead;
  const score = (/** @type {[number, number]} */ pair) => order.map((place) => number(pair[place])).join("–");
  const isDecided = sets[0] + sets[1] > 0;
  const main = isDecided ? sets : games;
  const [left, right] = order.map((place) => make(`span.total${main[place] < main[1 - place] ? ".behind" : ""}`, number(main[place])));
  const unit = isDecided ? (limited ? "scene.in_last_sets" : "scene.in_sets") : "scene.in_games";
  const lines = [
    make("p.title", text("scene.head_to_head")),
    make(main.some((each) => each > MAX_DIGIT) ? "p.totals.long" : "p.totals", left, make("span.dash", "–"), right),
    make("p.unit", text(unit, { score: score(games), count: games[0] + games[1] })),
  ];
  if (last !== undefined) {
    const day = date(new Date(last.at), { year: "numeric", month: "short", day: "numeric" });
    lines.push(make("p.last-set", text("scene.last_set", { score: score(last.score), date: day })));
  }
  return make("div.meetings", ...lines);
}

/**
 * What is known about one of the two players, line by line.
 * @param {History[]} players  The left one and the right one.
 */
function rows(players) {
  /** @type {[string, (player: History) => HTMLElement[]][]} */
  const facts = [
    ["scene.sets_today", ({ results }) => results.slice(0, MAX_RESULTS).map(resultLine)],
    ["scene.favourite_stages", ({ stages }) => stages.slice(0, MAX_STAGES).map(stageLine)],
    ["scene.most_wins", ({ worked }) => (worked === undefined ? [] : [workedLine(worked)])],
    ["scene.average_game", ({ averageSeconds }) => figures(lengthOf(averageSeconds))],
    ["scene.openings_per_kill", ({ openingsPerKill }) => figures(openingsPerKill === undefined ? "" : figure(openingsPerKill, 1))],
  ];
  return facts.flatMap(([key, lines]) => {
    const [left, right] = players.map(lines);
    return left.length + right.length === 0
      ? []
      : [make("div.tape-row", make("dt", text(key)), cell("left", left), cell("right", right))];
  });
}

/**
 * @param {string} side
 * @param {HTMLElement[]} lines
 */
function cell(side, lines) {
  return make(`dd.${side}`, ...(lines.length === 0 ? [make("span.none", "–")] : lines));
}

/** @param {string} words */
function figures(words) {
  return words === "" ? [] : [make("span.figure", words)];
}

/** @param {History["results"][number]} result */
function resultLine({ opponent = "", score, won }) {
  const points = make(won ? "span.points.won" : "span.points", score.map((each) => number(each)).join("–"));
  return make("span.fact-line", fitted("span.name", splitName(opponent).tag), points);
}

/** @param {History["stages"][number]} record */
function stageLine({ stage, games, won }) {
  return make("span.fact-line", stagePlate(stageIdOf(stage), ""), fitted("span.name", thingText(stage, FORMAT)), record(won, games));
}

/** @param {NonNullable<History["worked"]>} worked */
function workedLine({ character, stage, games, won }) {
  const characterId = character.kind === "character" && typeof character.id === "number" ? character.id : -1;
  const words = [character, stage].map((thing) => thingText(thing, FORMAT)).join(" · ");
  return make("span.fact-line", pictureOf({ characterId, costumeIndex: 0 }), fitted("span.name", words), record(won, games));
}

/** @param {Thing} stage */
function stageIdOf({ kind, id }) {
  return kind === "stage" && typeof id === "number" ? id : undefined;
}

/**
 * Games won and lost.
 * @param {number} won
 * @param {number} games
 */
function record(won, games) {
  return make("span.points", `${number(won)}–${number(games - won)}`);
}
