/** Common parts of all scenes except the live one: a board that is drawn from the state of a station, and its parts. */

import { Api } from "../api.js";
import { find, make, setData, setText } from "../dom.js";
import { portraitPicture, stagePicture } from "../icons/icons.js";
import { arrivals } from "../late.js";
import { colourOf } from "../player_colour.js";
import { minutesText } from "../slippi.js";
import { portText } from "../texts/names.js";
import { number } from "../texts/texts.js";
import { drawExtra, drawInk, drawName, drawPicture, drawSponsor } from "./card.js";
import { isExample, openScene, preparePage, station } from "./page.js";
import { Results } from "./results.js";
import { SceneState } from "./state.js";

/**
 * @typedef {import("./people.js").Person} Person
 * @typedef {import("../scene_options.js").SceneOptions} SceneOptions
 *
 * @typedef {object} Board
 * @property {HTMLElement} element
 * @property {SceneOptions} options
 * @property {SceneState} state
 * @property {Results} results
 *
 * @typedef {object} BoardParts
 * @property {import("../slpstream_types.js").Topic[]} [topics]
 * @property {string[]} [also]
 * @property {string[]} [fields]
 * @property {(message: Record<string, any>) => void} [take]  Receives each message before the state of the station does.
 * @property {(board: Board, now: number) => boolean | number} draw  Returns whether there is something to show; a number is
 *     the time at which to draw again.
 */

/** The lines of a player that can be missing. */
const LINES = ["swatch", "sponsor", "logo", "extra", "character"];

/**
 * Opens a scene of one station. While it has nothing to show, the page is transparent.
 * @param {BoardParts} parts
 * @returns {() => void} Draws soon.
 */
export function openBoard({ topics = ["game"], also, fields, take, draw }) {
  const options = preparePage();
  const root = find(".scene");
  const status = find(".status");
  const state = new SceneState(station, options.hold);
  let drawSoon = () => {};
  const api = new Api(options.token);
  const get = async (/** @type {string} */ path) =>
    isExample ? (await import("./example.js")).answerExample(path) : api.get(path);
  const results = new Results(get, () => drawSoon());
  const board = { element: find(".board"), options, state, results };
  document.title = `${station} · slpstream ${root.dataset.scene}`;
  drawSoon = openScene(options, {
    stations: [station],
    topics,
    also,
    fields,
    take: (message, now) => {
      take?.(message);
      state.take(message, now);
    },
    draw: (now) => {
      root.classList.toggle("stale", state.connection !== "open");
      setText(status, state.problem);
      status.hidden = state.problem === "";
      const shown = draw(board, now);
      board.element.hidden = shown === false;
      root.dataset.phase = shown === false ? "waiting" : "shown";
      return typeof shown === "number" ? shown : null;
    },
  });
  return drawSoon;
}

/**
 * Builds the parts of a board again if what they show has changed, and after late data have arrived.
 * @param {HTMLElement} element
 * @param {unknown} shown  Everything else that the parts depend on.
 * @param {() => (Node | string)[]} build
 */
export function rebuild(element, shown, build) {
  const key = JSON.stringify([arrivals(), shown]);
  if (element.dataset.shown !== key) {
    element.dataset.shown = key;
    element.replaceChildren(...build());
    element.querySelectorAll(".name, .sponsor:not(.logo)").forEach((line) => {
      const content = line.firstElementChild;
      drawName(/** @type {HTMLElement} */ (line), content?.textContent ?? "");
    });
    element.querySelectorAll("[data-colour]").forEach((each) => drawInk(/** @type {HTMLElement} */ (each)));
  }
}

/**
 * A line with a text that is fitted into its width.
 * @param {string} kind
 * @param {string} value
 */
export function fitted(kind, value) {
  const line = make(kind, make("bdi", value));
  line.hidden = value === "";
  return line;
}

/**
 * The picture of a character.
 * @param {{characterId: number, costumeIndex: number}} person
 */
export function pictureOf({ characterId, costumeIndex }) {
  const box = make("span.swatch");
  box.setAttribute("aria-hidden", "true");
  if (characterId >= 0) {
    drawPicture(box, characterId, costumeIndex);
  }
  box.hidden = characterId < 0;
  return box;
}

/** @param {{port: number}} person */
export function portOf({ port }) {
  return make("span.port", make("span.shape"), make("span.port-label", portText(port)));
}

/**
 * The large picture of a character.
 * @param {{characterId: number, costumeIndex: number}} person
 */
export function portraitOf({ characterId, costumeIndex }) {
  const box = make("span.swatch.portrait");
  box.setAttribute("aria-hidden", "true");
  if (characterId >= 0) {
    box.append(portraitPicture(characterId, costumeIndex));
  }
  box.hidden = characterId < 0;
  return box;
}

/**
 * A player with picture, sponsor, tag, pronouns, seed and character.
 * @param {Person} person
 * @param {(person: Person) => HTMLElement} [picture]
 */
export function plate(person, picture = pictureOf) {
  const extra = make("p.extra", make("span.pronouns"), make("span.seed"));
  drawExtra(extra, person);
  const sponsor = fitted("p.sponsor", person.sponsor);
  drawSponsor(sponsor, person.sponsor);
  const character = make("p.character", person.character);
  character.hidden = person.character === "";
  const who = make("div.who", portOf(person), sponsor, fitted("p.name", person.tag), extra, character);
  return coloured(make("div.plate", picture(person), who), person);
}

/**
 * Gives all plates the lines that one of them has, so that their names are at the same height.
 * @param {HTMLElement} element  It contains the plates.
 */
export function aligned(element) {
  for (const line of LINES) {
    const isShown = [...element.querySelectorAll(`.plate .${line}`)].some((each) => !(/** @type {HTMLElement} */ (each).hidden));
    element.classList.toggle(`has-${line}`, isShown);
  }
  element.classList.add("aligned");
  return element;
}

/**
 * @param {HTMLElement} element
 * @param {{team: string, port: number}} player
 */
export function coloured(element, player) {
  setData(element, "colour", colourOf(player));
  setData(element, "port", String(player.port));
  return element;
}

/**
 * The line above a board: event, round, length of the set.
 * @param {import("../slpstream_types.js").SetScore | null} set
 * @param {...string} others
 */
export function heading(set, ...others) {
  const parts = [["event", set?.event ?? ""], ["round", set?.round ?? ""], ...others.map((each) => ["detail", each])];
  return make("header.heading", ...parts.filter(([, words]) => words !== "").map(([kind, words]) => make(`p.${kind}`, words)));
}

/**
 * Outline and name of a stage; empty if it is unknown.
 * @param {number | undefined} stageId
 * @param {string} name
 */
export function stagePlate(stageId, name) {
  const picture = make("span.stage-frame", ...(stageId === undefined ? [] : [stagePicture(stageId)]));
  picture.setAttribute("aria-hidden", "true");
  return make("p.stage-plate", picture, make("span.stage", name));
}

/** @param {number | null | undefined} seconds */
export function lengthOf(seconds) {
  return seconds === null || seconds === undefined ? "" : minutesText(seconds);
}

/**
 * @param {number | null | undefined} value
 * @param {number} [digits]
 */
export function figure(value, digits = 0) {
  return typeof value === "number" ? number(value, { minimumFractionDigits: digits, maximumFractionDigits: digits }) : "–";
}
