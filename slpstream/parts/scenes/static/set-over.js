/** The end of a set on the live scene: a plate across the picture with the winner, the score and the games, one after another. */

import { make } from "../dom.js";
import { stagePicture } from "../icons/icons.js";
import { arrivals } from "../late.js";
import { colourOf } from "../player_colour.js";
import { playerOfSet } from "../slippi.js";
import { text } from "../texts/texts.js";
import { drawInk, drawName, drawPicture } from "./card.js";
import { scoreWords, sideWords, stageOf } from "./words.js";

/**
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 * @typedef {import("../slpstream_types.js").SetGame} SetGame
 */

/** Of longer sets, such as crew battles, the plate shows the last games. */
const MAX_GAMES = 9;

/**
 * @param {HTMLElement} plate
 * @param {SetScore} set  It is over, and has a winner.
 */
export function drawSetOver(plate, set) {
  const key = JSON.stringify([arrivals(), set]);
  if (plate.dataset.key === key) {
    return;
  }
  plate.dataset.key = key;
  const winner = /** @type {number} */ (set.winner);
  const members = set.players.filter(({ side }) => side === winner);
  const name = line("p.champion-name", sideWords(set, winner));
  const champion = make(
    "div.champion",
    make("span.pictures", ...members.map(picture)),
    make("div.champion-words", make("p.champion-title", text("scene.set_winner")), name),
    make("p.champion-score", scoreWords(set)),
  );
  const games = (set.games ?? []).filter(({ counts }) => counts).slice(-MAX_GAMES).map((game, place) => playedGame(set, game, place));
  plate.replaceChildren(champion, make("ol.played", ...games));
  colour(plate, members[0]);
  plate.querySelectorAll(".fitted").forEach((each) => drawName(/** @type {HTMLElement} */ (each), each.textContent ?? ""));
}

/**
 * @param {SetScore} set
 * @param {SetGame} game
 * @param {number} place
 */
function playedGame(set, game, place) {
  const winners = game.players.filter(({ side }) => side === game.winner);
  const stage = make("span.played-stage", ...(game.stageId === undefined ? [] : [stagePicture(game.stageId)]));
  stage.setAttribute("aria-hidden", "true");
  const box = make("li.played-game", stage, make("span.pictures", ...winners.map(picture)), line("span.played-name", stageOf(game.stageId)));
  box.style.setProperty("--place", String(place));
  colour(box, set.players.find(({ side }) => side === game.winner));
  return box;
}

/** @param {{characterId?: number, characterColor?: number}} player */
function picture({ characterId, characterColor = 0 }) {
  const box = make("span.swatch");
  box.setAttribute("aria-hidden", "true");
  if (characterId !== undefined) {
    drawPicture(box, characterId, characterColor);
  }
  return box;
}

/**
 * @param {string} kind
 * @param {string} words
 */
function line(kind, words) {
  return make(`${kind}.fitted`, make("bdi", words));
}

/**
 * @param {HTMLElement} element
 * @param {import("../slpstream_types.js").SetPlayer | undefined} player
 */
function colour(element, player) {
  if (player !== undefined) {
    element.dataset.colour = colourOf(playerOfSet(player));
    drawInk(element);
  }
}
