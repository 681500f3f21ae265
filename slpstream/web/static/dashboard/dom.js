/** What all parts of the dashboard do with elements. */

import { minutes } from "../slippi.js";

/** @type {(selector: string, root?: ParentNode) => HTMLElement} */
export const find = (selector, root = document) => /** @type {HTMLElement} */ (root.querySelector(selector));

/**
 * A copy of what is in a template.
 * @param {string} id
 */
export function clone(id) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById(id));
  return /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
}

/**
 * Writes only what differs: pages with 16 stations change many times a second.
 * @param {HTMLElement} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @param {string} value
 */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) {
    element.setAttribute(name, value);
  }
}

/**
 * One child of `parent` for each value, in their order.
 * @template T
 * @param {HTMLElement} parent
 * @param {readonly T[]} values
 * @param {() => HTMLElement} make
 * @param {(element: HTMLElement, value: T, index: number) => void} show
 */
export function fill(parent, values, make, show) {
  while (parent.children.length > values.length) {
    parent.lastElementChild?.remove();
  }
  while (parent.children.length < values.length) {
    parent.append(make());
  }
  values.forEach((value, i) => show(/** @type {HTMLElement} */ (parent.children[i]), value, i));
}

/**
 * @param {string} tag
 * @param {string} [text]
 * @param {Record<string, string>} [attributes]
 */
export function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  return made;
}

/** Frame number to the time since GO, `m:ss`. @param {number} frame */
export function gameTime(frame) {
  return minutes(Math.max(0, frame) / 60);
}

/**
 * A value of the style sheet, for canvases.
 * @param {Element} element
 * @param {string} name
 */
export function styleValue(element, name) {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

/**
 * A canvas as large as it is shown, in device pixels; its context draws in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 */
export function sized(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = Math.min(3, devicePixelRatio || 1);
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    [canvas.width, canvas.height] = [wide, high];
  }
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

export const PORT_COLOURS = Object.freeze(["red", "blue", "yellow", "green"]);

/**
 * The colour that stands for a player: the team's, or the port's.
 * @param {{team: string, port: number}} player
 */
export function colourOf(player) {
  return player.team || PORT_COLOURS[player.port - 1] || "red";
}
