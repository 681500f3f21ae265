/** Draws one player of the overlay into a copy of the template, changing only what differs. */

import { swatch } from "./costumes.js";
import { damageColour, pointsText, stocksText } from "./slippi.js";

/**
 * @typedef {import("./slippi.js").Player} Player
 * @typedef {import("./overlay_state.js").ShownCombo} ShownCombo
 *
 * @typedef {object} CardOptions
 * @property {"left" | "right"} side  Side of the overlay.
 * @property {ShownCombo | null} combo
 * @property {number | null} score
 * @property {import("./controller.js").Held | undefined} held
 * @property {boolean} won
 */

const PORT_COLOURS = ["red", "blue", "yellow", "green"];
/** More stocks than this are shown as a number. */
const MAX_ICONS = 6;
/** Longer names are set in a smaller font. */
const LONG_NAME_LENGTH = 10;
/** Damage of a hit with the strongest shake animation. */
const MAX_HIT_PERCENT = 20;

/** @type {(selector: string, root: ParentNode) => HTMLElement} */
const find = (selector, root) => /** @type {HTMLElement} */ (root.querySelector(selector));

/**
 * @param {HTMLElement} card
 * @param {Player} player
 * @param {CardOptions} options
 */
export function drawCard(card, player, { side, combo, score, held, won }) {
  setData(card, "port", String(player.port));
  setData(card, "colour", player.team || PORT_COLOURS[player.port - 1] || "red");
  setData(card, "side", side);
  card.classList.toggle("out", player.stocks === 0);
  card.classList.toggle("won", won);
  setText(find(".name bdi", card), player.name);
  find(".name", card).classList.toggle("long", player.name.length > LONG_NAME_LENGTH);
  setText(find(".fighter", card), player.character);
  const costume = find(".costume", card);
  setText(costume, player.costume);
  costume.hidden = player.costume === "Default";
  drawSwatch(find(".swatch", card), player);
  drawStocks(find(".stocks", card), player);
  drawPercent(find(".percent", card), player);
  drawCombo(find(".combo", card), combo);
  drawScore(find(".score", card), score);
  if (held !== undefined) {
    /** @type {import("./controller.js").ControllerDisplay} */ (find("controller-display", card)).show(held);
  }
}

/**
 * @param {HTMLElement} box
 * @param {Player} player
 */
function drawSwatch(box, { characterId, costume }) {
  const { letters, colour, ink } = swatch(characterId, costume);
  const key = `${letters}/${colour}`;
  if (box.dataset.key !== key) {
    box.dataset.key = key;
    setText(box, letters);
    box.style.setProperty("--costume", colour);
    box.style.setProperty("--ink", ink);
  }
}

/**
 * The stocks, or the score in a game without stocks.
 * @param {HTMLElement} line
 * @param {Player} player
 */
function drawStocks(line, { stocks, startStocks, points }) {
  line.hidden = stocks === null && points === null;
  line.classList.toggle("points", points !== null);
  const key = points === null ? `${stocks}/${startStocks}` : `${points} points`;
  if (points !== null && line.dataset.key !== key) {
    line.dataset.key = key;
    setText(find(".text", line), pointsText(points));
    find(".icons", line).replaceChildren(pointsText(points));
  }
  if (stocks === null || line.dataset.key === key) {
    return;
  }
  line.dataset.key = key;
  line.dataset.stocks = String(stocks);
  setText(find(".text", line), stocksText(stocks));
  const total = Math.max(stocks, startStocks);
  const icons = total > MAX_ICONS ? [icon(stocks === 0), `× ${stocks}`] : discs(stocks, total);
  find(".icons", line).replaceChildren(...icons);
}

/**
 * @param {number} stocks
 * @param {number} total
 */
function discs(stocks, total) {
  return Array.from({ length: total }, (_, i) => icon(i >= stocks));
}

/** @param {boolean} lost */
function icon(lost) {
  const disc = document.createElement("span");
  disc.className = lost ? "icon lost" : "icon";
  return disc;
}

/**
 * @param {HTMLElement} line
 * @param {Player} player
 */
function drawPercent(line, { percent }) {
  line.hidden = percent === undefined;
  const shown = percent === undefined || percent === null ? "–" : String(percent);
  const value = find(".value", line);
  if (value.textContent === shown) {
    return;
  }
  const hit = percent === undefined || percent === null ? 0 : percent - Number(value.textContent || Infinity);
  if (hit > 0) {
    line.style.setProperty("--force", String(Math.min(1, 0.35 + hit / MAX_HIT_PERCENT).toFixed(2)));
    restartAnimation(line, "hit");
  }
  setText(value, shown);
  line.style.setProperty("--damage", damageColour(percent ?? null));
}

/**
 * @param {HTMLElement} tag
 * @param {ShownCombo | null} combo
 */
function drawCombo(tag, combo) {
  tag.classList.toggle("shown", combo !== null);
  if (combo === null) {
    setData(tag, "hits", "");
    return; // the text stays while the element fades out
  }
  tag.classList.toggle("ended", combo.ended);
  if (tag.dataset.hits !== String(combo.hits)) {
    setData(tag, "hits", String(combo.hits));
    setText(find(".hits", tag), String(combo.hits));
    restartAnimation(tag, "bump");
  }
  setText(find(".damage", tag), `${Math.floor(combo.damage)}%`);
}

/**
 * @param {HTMLElement} box
 * @param {number | null} score
 */
function drawScore(box, score) {
  box.hidden = score === null;
  setText(box, score === null ? "" : String(score));
}

/**
 * Restarts an animation. CSS restarts it only when its name changes, so there are two names for each animation.
 * @param {HTMLElement} element
 * @param {string} name
 */
function restartAnimation(element, name) {
  const playing = element.classList.contains(name);
  element.classList.toggle(name, !playing);
  element.classList.toggle(`${name}-again`, playing);
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @param {string} value
 */
function setData(element, name, value) {
  if (element.dataset[name] !== value) {
    element.dataset[name] = value;
  }
}

/**
 * @param {HTMLElement} element
 * @param {string} text
 */
export function setText(element, text) {
  const node = element.firstChild;
  if (node instanceof Text && element.lastChild === node) {
    if (node.data !== text) {
      node.data = text;
    }
  } else if (element.textContent !== text) {
    element.textContent = text;
  }
}
