/**
 * The players of a station, `/scenes/player/{station}`: each with characters, games and openings per kill of the last hours, and the
 * games of the set so far. The option `players` selects one.
 */

import { make } from "../dom.js";
import { playerInSet } from "../set_score.js";
import { number, text } from "../texts/texts.js";
import { aligned, coloured, figure, fitted, heading, openBoard, pictureOf, plate, portraitOf, rebuild, stagePlate } from "./boards.js";
import { peopleOf, selected } from "./people.js";
import { Today } from "./today.js";
import { lengthWords, stageOf, stocksWords } from "./words.js";

/**
 * @typedef {import("./people.js").Person} Person
 * @typedef {import("./today.js").PlayedGame} PlayedGame
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 */

/** Openings per kill are those of so many games. */
const MAX_GAMES = 10;
const MAX_CHARACTERS = 5;
/** Of the set. */
const MAX_PATH = 7;
/** More players have no room for the games of the set. */
const MAX_WITH_PATH = 2;

/** @type {Today | null} */
let today = null;
const drawSoon = openBoard({ draw });

/**
 * @param {import("./boards.js").Board} board
 * @param {number} now
 */
function draw({ element, options, state, results }, now) {
  const { game, set } = state.shown(now);
  const people = selected(peopleOf(game, set), options.players);
  if (people.length === 0) {
    return false;
  }
  today ??= new Today(results.get, () => drawSoon());
  today.follow(state.lastGameId);
  element.dataset.count = String(people.length);
  const shown = people.map(({ percent, stocks, points, ...person }) => {
    const played = /** @type {Today} */ (today).gamesOf(/** @type {Person} */ (person));
    return { person: /** @type {Person} */ (person), played, openings: openingsPerKill(played.slice(0, MAX_GAMES), results) };
  });
  rebuild(element, [shown, set?.games, set?.event, set?.round, set?.bestOf], () => [
    heading(set, lengthWords(set)),
    aligned(make(
      people.length > MAX_WITH_PATH ? "div.profiles.narrow" : "div.profiles",
      ...shown.map(({ person, played, openings }) =>
        profile(person, played, openings, people.length > MAX_WITH_PATH ? [] : pathRows(person, set)),
      ),
    )),
  ]);
  return state.phaseEndsAt(now) ?? true;
}

/**
 * @param {Person} person
 * @param {PlayedGame[]} played  Today's games.
 * @param {number | null} openings
 * @param {HTMLElement[]} path  The games of the set.
 */
function profile(person, played, openings, path) {
  const won = played.filter((game) => game.won).length;
  const rows = [
    ["scene.characters_today", played.length === 0 ? null : characters(played)],
    ["scene.games_today", played.length === 0 ? null : `${number(won)}–${number(played.length - won)}`],
    ["scene.openings_per_kill", openings === null ? null : figure(openings, 1)],
  ].flatMap(([key, value]) => (value === null ? [] : [make("div.fact", make("dt", text(/** @type {string} */ (key))), make("dd", value))]));
  const box = make("section.profile", plate(person, portraitOf), make("dl.facts", ...rows));
  if (path.length > 0) {
    box.append(make("h2.title", text("scene.set_so_far")), make("ol.path", ...path));
  }
  return coloured(box, person);
}

/**
 * The characters of games, the most played first, each in its newest costume.
 * @param {PlayedGame[]} played
 */
function characters(played) {
  /** @type {Map<number, {count: number, costumeIndex: number}>} */
  const counts = new Map();
  for (const { characterId, costumeIndex } of played) {
    const before = counts.get(characterId);
    counts.set(characterId, { costumeIndex: before?.costumeIndex ?? costumeIndex, count: (before?.count ?? 0) + 1 });
  }
  const most = [...counts].filter(([id]) => id >= 0).sort(([, a], [, b]) => b.count - a.count).slice(0, MAX_CHARACTERS);
  return make("span.used", ...most.map(([characterId, { costumeIndex, count }]) =>
    make("span.use", pictureOf({ characterId, costumeIndex }), make("span.times", `×${number(count)}`)),
  ));
}

/**
 * @param {PlayedGame[]} played
 * @param {import("./results.js").Results} results
 */
function openingsPerKill(played, results) {
  const found = played.map(({ gameId, index }) =>
    results.overall(gameId)?.find(({ playerIndex }) => playerIndex === index)?.openingsPerKill,
  );
  const [count, total] = ["count", "total"].map((name) => found.reduce((sum, each) => sum + (each?.[name] ?? 0), 0));
  return total === 0 ? null : count / total;
}

/**
 * The games of the set, as this player sees them.
 * @param {Person} person
 * @param {SetScore | null} set
 */
function pathRows(person, set) {
  const side = playerInSet(set, person)?.side;
  const games = (set?.games ?? []).filter(({ counts, winner }) => counts && winner !== undefined);
  return games.map((game, i) => {
    const own = game.players.filter((player) => player.side === side);
    const winners = game.players.filter((player) => player.side === game.winner);
    const isKnown = winners.every((player) => player.stocks !== undefined);
    const stocks = winners.reduce((sum, player) => sum + (player.stocks ?? 0), 0);
    const won = game.winner === side;
    return make(
      won ? "li.path-game.won" : "li.path-game",
      make("span.number", number(i + 1 + (set?.olderGames ?? 0))),
      make("span.pictures", ...own.map(({ characterId = -1, characterColor = 0 }) => pictureOf({ characterId, costumeIndex: characterColor }))),
      stagePlate(game.stageId, ""),
      fitted("span.name.stage", stageOf(game.stageId)),
      make("span.outcome", text(won ? "scene.won" : "scene.lost")),
      make("span.stocks-left", isKnown ? stocksWords(stocks) : ""),
    );
  }).slice(-MAX_PATH);
}
