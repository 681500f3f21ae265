/**
 * The live scene: players, characters and score during a game, at `/scenes/live/{station}` and `/overlay/{station}`.
 * `scene_options.js` describes the options in the URL.
 */

import { CONTROLLER_FIELDS } from "../controller.js";
import { find, make, setText } from "../dom.js";
import { advantage, subscription } from "../odds_option.js";
import { isLeft, scoreOf } from "../set_score.js";
import { FIELDS, FORMAT, clock, minutesText } from "../slippi.js";
import { text } from "../texts/texts.js";
import { drawCard, makeCard } from "./card.js";
import { openScene, preparePage, station, statusWords } from "./page.js";
import { peopleOf, selected } from "./people.js";
import { drawSetOver } from "./set-over.js";
import { SceneState } from "./state.js";
import { lengthWords, nextGameWords, placeWords, resultWords, setWords, winnersOf } from "./words.js";

const isOverlay = location.pathname.includes("/overlay/");
const options = preparePage({ layout: isOverlay ? "hud" : "sides" });
const shows = new Set(options.show);
const ownHud = shows.has("percent") || shows.has("stocks");

const overlay = find(".overlay");
const match = find(".match");
const result = find(".result");
const bestOf = find(".best-of");
const next = find(".next");
const status = find(".status");
const list = find(".players");
const event = find(".event");
const round = find(".round");
const casters = find(".casters");
const setOver = find(".set-over");
const info = find(".info");
const state = new SceneState(station, options.hold);
const bar = advantage === null ? null : new advantage.Bar();
if (bar !== null) {
  find(".top").prepend(bar.root);
}

document.title = `${station} · slpstream overlay`;
overlay.dataset.show = options.show.join(" ");

openScene(options, {
  stations: [station],
  topics: shows.has("combo") || shows.has("stocks") ? ["game", "frame", "event"] : ["game", "frame"],
  fields: [...FIELDS, ...(shows.has("controller") ? CONTROLLER_FIELDS : [])],
  ...subscription,
  take: (message, now) => {
    bar?.take(message);
    state.take(message, now);
  },
  draw,
});

/** @param {number} now */
function draw(now) {
  const { view } = state;
  overlay.classList.toggle("stale", state.connection !== "open");
  const { phase, game, set } = state.shown(now);
  const words = statusWords(state, phase !== "waiting");
  setText(status, words);
  status.hidden = words === "";
  if (view.catchingUp) {
    return null;
  }
  overlay.dataset.phase = phase;
  // The panels of `hud` cover the game's own display only while they show the same, and otherwise become a strip below it.
  const covers = ownHud && phase !== "between";
  overlay.dataset.layout = options.layout === "hud" && !covers ? "bottom" : options.layout;
  match.hidden = game === null || phase === "between" || !(shows.has("stage") || shows.has("timer"));
  const won = phase === "result" && shows.has("score") && setWords(set) !== "" ? set : null;
  setOver.hidden = won === null;
  if (won !== null) {
    drawSetOver(setOver, won);
  }
  result.hidden = phase !== "result" || won !== null;
  const known = phase !== "waiting" && shows.has("score");
  showLine(bestOf, known && won === null ? setWords(set) || lengthWords(set) : "");
  showLine(next, known && phase === "between" ? nextGameWords(set) : "");
  showLine(event, known ? (view.set?.event ?? "") : "");
  showLine(round, known ? (set?.round ?? "") : "");
  drawCasters(known ? (view.set?.casters ?? []) : []);
  info.hidden = [...info.children].every((line) => /** @type {HTMLElement} */ (line).hidden);
  if (game !== null) {
    const suddenDeath = game.summary?.suddenDeath ?? false;
    setText(find(".stage", match), placeWords(game));
    setText(find(".clock", match), suddenDeath ? text("scene.sudden_death") : game.format === FORMAT ? clock(game) : "");
    setText(find(".outcome", result), resultWords(game, set));
    setText(find(".length", result), game.end?.durationSeconds == null ? "" : minutesText(game.end.durationSeconds));
  }
  const people = peopleOf(game, set);
  const shown = selected(people, options.players);
  list.dataset.game = view.game?.gameId ?? "";
  list.dataset.frame = String(view.game?.frame ?? "");
  list.dataset.count = String(shown.length);
  overlay.dataset.count = String(shown.length);
  overlay.dataset.lines = shows.has("names") && shown.length === 2 ? linesOf(shown).join(" ") : "";
  while (list.children.length > shown.length) {
    list.lastElementChild?.remove();
  }
  while (list.children.length < shown.length) {
    list.append(makeCard());
  }
  const sides = new Set(shown.map((player, i) => (isOnTheLeft(shown, people, player, i) ? "left" : "right")));
  overlay.dataset.sides = [...sides].join(" ");
  const winners = game === null ? [] : winnersOf(game, set);
  const playing = phase === "playing";
  shown.forEach((player, i) => {
    drawCard(/** @type {HTMLElement} */ (list.children[i]), player, {
      side: isOnTheLeft(shown, people, player, i) ? "left" : "right",
      combo: shows.has("combo") && playing ? state.combo(player.index) : null,
      score: scoreOf(set, player),
      winsNeeded: set?.winsNeeded ?? 0,
      held: shows.has("controller") ? game?.players.get(player.index)?.pre : undefined,
      won: phase === "result" && winners.includes(player.index),
      moment: state.moment(player.index, now),
      setPoint: playing && shows.has("score") && state.hasSetPoint(player),
      matchPoint: playing && shows.has("score") && state.hasSetPoint(player) && isOneStockAhead(people, player),
    });
  });
  bar?.draw(playing ? game : null, shown);
  return state.changesAt(now);
}

/**
 * The lines above and below the names, if one of these players has them.
 * @param {readonly import("./people.js").Person[]} shown
 */
function linesOf(shown) {
  const hasSponsor = shown.some(({ sponsor }) => sponsor !== "");
  const hasExtra = shown.some(({ pronouns, seed }) => pronouns !== "" || seed !== null);
  return [...(hasSponsor ? ["sponsor"] : []), ...(hasExtra ? ["extra"] : [])];
}

/**
 * A single card is on the side of its player, others are divided into halves.
 * @param {readonly import("./people.js").Person[]} shown
 * @param {readonly import("./people.js").Person[]} all
 * @param {import("./people.js").Person} player
 * @param {number} i
 */
function isOnTheLeft(shown, all, player, i) {
  if (options.players === "left" || options.players === "right") {
    return options.players === "left";
  }
  return shown.length === all.length ? isLeft(all, player, i) : i < shown.length / 2;
}

/**
 * Whether the opponents of a player have one stock left between them.
 * @param {readonly import("./people.js").Person[]} people
 * @param {import("./people.js").Person} player
 */
function isOneStockAhead(people, player) {
  const opponents = people.filter(({ index, team }) => index !== player.index && (team === "" || team !== player.team));
  return opponents.reduce((sum, { stocks }) => sum + (stocks ?? NaN), 0) === 1;
}

/**
 * @param {HTMLElement} line
 * @param {string} words
 */
function showLine(line, words) {
  setText(line, words);
  line.hidden = words === "";
}

/** @param {readonly string[]} names */
function drawCasters(names) {
  casters.hidden = names.length === 0;
  const key = names.join("\n");
  if (casters.dataset.key !== key) {
    casters.dataset.key = key;
    casters.replaceChildren(make("span.title", text("scene.casters")), ...names.map((name) => make("bdi", name)));
  }
}
