/** A drawing of percents over time: a stepped line for each player, and a mark for each stock that was lost. */

import { minutesText } from "../slippi.js";
import { text } from "../texts/texts.js";
import { coloured } from "./boards.js";

/**
 * @typedef {import("../match.js").PercentHistory} PercentHistory
 * @typedef {import("./people.js").Person} Person
 */

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 640;
const HEIGHT = 250;
const LEFT = 62;
const RIGHT = 12;
const TOP = 14;
const BOTTOM = 30;
const DASHES = ["", "10 4", "3 4", "12 4 3 4"];
const MIN_PERCENT = 100;
const GRID_PERCENT = 50;
const SECOND_STEPS = [15, 30, 60, 120, 300, 600];
const MAX_TIMES = 7;

/**
 * @param {PercentHistory} history
 * @param {readonly Person[]} people
 * @param {number} lastFrame
 */
export function percentChart(history, people, lastFrame) {
  const start = history.timerStart;
  const seconds = Math.max(10, (lastFrame - start) / 60);
  const high = Math.max(MIN_PERCENT, ...[...history.points.values()].flat().map(({ percent }) => percent));
  const max = Math.ceil(high / GRID_PERCENT) * GRID_PERCENT;
  const x = (/** @type {number} */ frame) => LEFT + (Math.max(0, frame - start) / 60 / seconds) * (WIDTH - LEFT - RIGHT);
  const y = (/** @type {number} */ percent) => HEIGHT - BOTTOM - (percent / max) * (HEIGHT - TOP - BOTTOM);
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img" });
  svg.setAttribute("aria-label", text("scene.percents"));
  for (let percent = 0; percent <= max; percent += GRID_PERCENT) {
    svg.append(element("path", { class: "grid", d: `M${LEFT} ${y(percent)}H${WIDTH - RIGHT}` }));
    svg.append(label(LEFT - 8, y(percent) + 5, `${percent}%`, "end"));
  }
  const step = SECOND_STEPS.find((each) => seconds / each <= MAX_TIMES) ?? 1200;
  for (let second = 0; second <= seconds; second += step) {
    svg.append(label(x(start + second * 60), HEIGHT - 8, minutesText(second), "middle"));
  }
  people.forEach((person, i) => {
    const losses = history.losses.get(person.index) ?? [];
    const points = [...(history.points.get(person.index) ?? []), ...losses.map(({ frame }) => ({ frame, percent: 0 }))];
    points.sort((a, b) => a.frame - b.frame);
    const group = coloured(/** @type {any} */ (element("g", { class: "line" })), person);
    const path = points.map(({ frame, percent }) => `H${x(frame).toFixed(1)}V${y(percent).toFixed(1)}`).join("");
    group.append(element("path", { d: `M${x(0)} ${y(0)}${path}`, "stroke-dasharray": DASHES[i % DASHES.length] }));
    for (const { frame, percent } of losses) {
      const [cx, cy] = [x(frame), y(percent)];
      group.append(element("path", { class: "loss", d: `M${cx - 6} ${cy - 6}l12 12m0-12l-12 12` }));
    }
    svg.append(group);
  });
  return svg;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {"end" | "middle"} anchor
 */
function label(x, y, words, anchor) {
  const created = element("text", { x: String(x), y: String(y), "text-anchor": anchor });
  created.textContent = words;
  return created;
}

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 */
function element(tag, attributes) {
  const created = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    created.setAttribute(name, value);
  }
  return created;
}
