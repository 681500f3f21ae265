/**
 * The list of recent games: for each, the characters and stocks of its players, its stage, and when it ended. Everything else is in a
 * tooltip, which appears at the pointer and at the focus, and which Escape removes.
 */

import { clone, element, fill, find, make, setAttribute, setText } from "../dom.js";
import { placeName, playersOf, resultOf, whoText, winnersOf } from "../game_words.js";
import { characterPicture, stagePicture } from "../icons/icons.js";
import { arrivals } from "../late.js";
import { colourOf } from "../player_colour.js";
import { minutesText } from "../slippi.js";
import { FORMAT } from "../texts/names.js";
import { date, text } from "../texts/texts.js";
import { endOf, gameAtEnd, timesOf } from "./listed_game.js";
import { dotsOf } from "./rows.js";

/** @typedef {import("../listed_game.js").Item} Item */

/** A game of more players is shown in words. */
const MAX_PLAYERS = 4;

/**
 * @param {HTMLElement} list
 * @param {Item[]} games
 * @param {(id: string) => string} stationName
 */
export function showGames(list, games, stationName) {
  fill(list, games, newGame, (row, item) => showGame(row, item, stationName(item.station)));
}

function newGame() {
  const row = clone("recent-game");
  const set = (/** @type {boolean} */ dismissed) => row.classList.toggle("dismissed", dismissed);
  row.addEventListener("keydown", ({ key }) => key === "Escape" && set(true));
  row.addEventListener("mouseleave", () => set(false));
  row.addEventListener("focusout", () => set(false));
  return row;
}

/**
 * @param {HTMLElement} row
 * @param {Item} item
 * @param {string} station
 */
function showGame(row, item, station) {
  const game = gameAtEnd(item);
  const players = playersOf(game);
  const winners = winnersOf(game);
  const isDrawn = players.length > 0 && players.length <= MAX_PLAYERS;
  const link = find(".open", row);
  row.dataset.drawn = String(isDrawn);
  setAttribute(link, "href", `#game/${encodeURIComponent(item.gameId)}`);
  setAttribute(link, "aria-current", String(location.hash === `#game/${item.gameId}`));
  setText(find(".who", row), players.length ? whoText(game, players) : game.format);
  fill(find(".fighters", row), isDrawn ? players : [], newFighter, (fighter, player) => {
    const { character, color = 0 } = item.players?.find((/** @type {any} */ { index }) => index === player.index) ?? {};
    fighter.dataset.colour = colourOf(player);
    fighter.classList.toggle("won", winners.includes(player.index));
    setPicture(find(".picture", fighter), game.format === FORMAT ? `${character} ${color} ${arrivals()}` : "", () => characterPicture(character, color));
    setText(find(".name", fighter), player.name);
    setText(find(".dots", fighter), dotsOf(player));
  });
  const { stageId } = item.setup ?? {};
  setPicture(find(".stage-place", row), game.format === FORMAT && isDrawn ? `${stageId} ${arrivals()}` : "", () => stagePicture(stageId));
  const { own } = timesOf(item);
  const ended = endOf(item);
  const time = find("time", row);
  setAttribute(time, "datetime", ended);
  setText(time, ended ? timeOfDay(ended) : "");
  const details = find(".details", row);
  const result = players.length ? resultOf(game) : "";
  const length = typeof item.durationSeconds === "number" ? minutesText(item.durationSeconds) : "";
  const ownTime = own ? text("games.own_clock", { time: timeOfDay(own) }) : "";
  setText(details, [result, placeName(game), length, station, ownTime].filter(Boolean).join(" · "));
  setAttribute(details, "id", `details-${item.gameId}`);
  setAttribute(link, "aria-describedby", details.id);
}

function newFighter() {
  return make("li.fighter", make("span.picture"), element("bdi", "", { class: "name" }), make("span.dots"));
}

/**
 * Puts a picture into an element, if it has another one.
 * @param {HTMLElement} place
 * @param {string} key  Empty for no picture.
 * @param {() => HTMLElement} draw
 */
function setPicture(place, key, draw) {
  if (place.dataset.picture !== key) {
    place.dataset.picture = key;
    place.replaceChildren(...(key === "" ? [] : [draw()]));
  }
}

/** @param {string} moment */
function timeOfDay(moment) {
  const at = new Date(moment);
  const today = new Date().toDateString() === at.toDateString();
  return date(at, today ? { hour: "2-digit", minute: "2-digit" } : { dateStyle: "medium", timeStyle: "short" });
}
