/**
 * The chance of each of two sides to win the running game, now and in the last ten seconds, from the messages `odds`. Pages load
 * this module only if their address asks for it, and without such messages it shows nothing.
 *
 * The bar is divided at the chance of the left side. Below it are the last ten seconds, the newest at the top.
 */

import { element, find, loadStylesheet, setAttribute, setData, setText } from "./dom.js";
import { colourOf } from "./player_colour.js";
import { number, text } from "./texts/texts.js";

await loadStylesheet(import.meta, "advantage.css");

const PAST_FRAMES = 600;
const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {import("./slippi.js").Player} Side
 *
 * @typedef {{age: number, chance: number}} Moment  `age` in frames. The chance is that of the left side, from 0 to 1.
 */

/** The bar of a station, which is hidden without odds. */
export class Bar {
  root = makeBar();
  #gameId = "";
  /** @type {number[]} */ #players = [];
  /** @type {{frame: number, odds: number}[]} */ #points = [];

  /** @param {Record<string, any>} message */
  take({ type, gameId, players, frame, odds }) {
    if (type !== "odds") {
      return;
    }
    if (gameId !== this.#gameId) {
      [this.#gameId, this.#players, this.#points] = [gameId, players, []];
    }
    const recent = this.#points.filter((point) => point.frame < frame && point.frame >= frame - PAST_FRAMES);
    this.#points = [...recent, { frame, odds }];
  }

  /**
   * Shows the odds of a game, or hides the bar without them.
   * @param {{gameId: string} | null} game  `null` while no game is played.
   * @param {readonly Side[]} sides         Its players from the left.
   */
  draw(game, sides) {
    const moments = game === null || sides.length !== 2 ? [] : this.#moments(game.gameId, sides[0].index, sides[1].index);
    this.root.hidden = moments.length === 0;
    if (!this.root.hidden) {
      show(this.root, moments, sides);
    }
  }

  /**
   * The newest moments of a game, the newest first; empty without odds of these two players.
   * @param {string} gameId
   * @param {number} left   Index of the player on the left.
   * @param {number} right
   * @returns {Moment[]}
   */
  #moments(gameId, left, right) {
    const place = this.#players.indexOf(left);
    const newest = this.#points[this.#points.length - 1];
    if (gameId !== this.#gameId || newest === undefined || place < 0 || this.#players[1 - place] !== right) {
      return [];
    }
    const moments = this.#points.map(({ frame, odds }) => ({
      age: newest.frame - frame,
      chance: place === 0 ? odds : 1 - odds,
    }));
    return moments.reverse();
  }
}

function makeBar() {
  const bar = element("div", "", { class: "advantage", role: "img" });
  bar.hidden = true;
  const past = document.createElementNS(SVG, "svg");
  past.setAttribute("viewBox", `0 0 100 ${PAST_FRAMES}`);
  past.setAttribute("preserveAspectRatio", "none");
  for (const side of ["left", "right"]) {
    const area = document.createElementNS(SVG, "path");
    area.setAttribute("class", `area ${side}`);
    past.append(area);
  }
  const now = element("span", "", { class: "now" });
  now.append(element("span", "", { class: "area left" }), element("span", "", { class: "area right" }));
  const plot = element("span", "", { class: "plot" });
  plot.append(now, past);
  bar.append(element("span", "", { class: "chance left" }), plot, element("span", "", { class: "chance right" }));
  return bar;
}

/**
 * @param {HTMLElement} bar
 * @param {readonly Moment[]} moments
 * @param {readonly Side[]} sides
 */
function show(bar, moments, [left, right]) {
  const { chance } = moments[0];
  // Only a decided game has 0 or 100 %. Both figures add up to 100.
  const percent = chance === 0 || chance === 1 ? 100 * chance : Math.min(99, Math.max(1, Math.round(100 * chance)));
  const figures = [percent, 100 - percent].map((value) => number(value / 100, { style: "percent" }));
  for (const [i, side] of [left, right].entries()) {
    const name = i === 0 ? "left" : "right";
    setText(find(`.chance.${name}`, bar), figures[i]);
    for (const area of bar.querySelectorAll(`.area.${name}`)) {
      setData(/** @type {HTMLElement} */ (area), "colour", colourOf(side));
    }
  }
  setAttribute(bar, "aria-label", text("odds.chances", {
    left: left.name, right: right.name, left_chance: figures[0], right_chance: figures[1],
  }));
  find(".now > .left", bar).style.width = `${100 * chance}%`;
  const line = moments.map(({ age, chance: then }) => `${(100 * then).toFixed(1)} ${age}`).join("L");
  const oldest = moments[moments.length - 1].age;
  setAttribute(find("path.left", bar), "d", `M0 0L${line}L0 ${oldest}Z`);
  setAttribute(find("path.right", bar), "d", `M100 0L${line}L100 ${oldest}Z`);
}
