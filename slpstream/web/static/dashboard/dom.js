/** Functions for elements, used by all parts of the dashboard. */

import { minutesText } from "../slippi.js";

/** @type {(selector: string, root?: ParentNode) => HTMLElement} */
export const find = (selector, root = document) => /** @type {HTMLElement} */ (root.querySelector(selector));

/**
 * A copy of the element in a template.
 * @param {string} id
 */
export function clone(id) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById(id));
  return /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
}

/**
 * Sets the text if it differs. Pages with 16 stations change many times a second, so needless writes would be costly.
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
 * Gives `parent` one child per value, in order. Children are reused.
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
  const created = document.createElement(tag);
  created.textContent = text;
  for (const [name, value] of Object.entries(attributes)) {
    created.setAttribute(name, value);
  }
  return created;
}

/** The time since GO at a frame number, as `m:ss`. @param {number} frame */
export function gameTime(frame) {
  return minutesText(Math.max(0, frame) / 60);
}

/**
 * A custom property of the stylesheet, for drawing on a canvas.
 * @param {Element} element
 * @param {string} name
 */
export function styleValue(element, name) {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

/**
 * Clears a canvas and sizes it in device pixels to its displayed size. The context draws in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 */
export function resized(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = Math.min(3, devicePixelRatio || 1);
  const [deviceWidth, deviceHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== deviceWidth || canvas.height !== deviceHeight) {
    [canvas.width, canvas.height] = [deviceWidth, deviceHeight];
  }
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

export const PORT_COLOURS = Object.freeze(["red", "blue", "yellow", "green"]);

/**
 * The colour of a player: that of the team, or else of the port.
 * @param {{team: string, port: number}} player
 */
export function colourOf(player) {
  return player.team || PORT_COLOURS[player.port - 1] || "red";
}
