/** The overlay of one station: `/overlay/{station}`. Options in the URL: `token`. */

import { FIELDS, FORMAT, clock, damageColour, loadNames, players, stageName, stocksText } from "./slippi.js";
import { Stream } from "./slpstream.js";

/** @typedef {import("./slippi.js").Player} Player */

const PORT_COLOURS = ["red", "blue", "yellow", "green"];
/** More than these are shown as a number. */
const MOST_ICONS = 6;

const station = decodeURIComponent(location.pathname.split("/").pop() ?? "");
const options = new URLSearchParams(location.search);

/** @type {(selector: string, root?: ParentNode) => HTMLElement} */
const find = (selector, root = document) => /** @type {HTMLElement} */ (root.querySelector(selector));

const overlay = find(".overlay");
const match = find(".match");
const status = find(".status");
const list = find(".players");
const template = /** @type {HTMLTemplateElement} */ (find("#player"));

let drawing = false;

const stream = new Stream({
  station,
  fields: [...FIELDS],
  token: options.get("token") ?? undefined,
  onChange: drawSoon,
});
loadNames(drawSoon);
document.title = `${station} · slpstream overlay`;

function drawSoon() {
  if (!drawing) {
    drawing = true;
    requestAnimationFrame(draw);
  }
}

function draw() {
  drawing = false;
  const view = stream.station(station);
  overlay.classList.toggle("stale", stream.connection !== "open");
  setStatus(statusText());
  if (view.catchingUp) {
    return;
  }
  const game = view.game?.format === FORMAT ? view.game : null;
  const shown = game === null ? [] : players(game);
  match.hidden = game === null;
  if (game !== null) {
    setText(find(".stage", match), stageName(game));
    setText(find(".clock", match), clock(game));
  }
  list.dataset.game = game?.gameId ?? "";
  list.dataset.frame = String(game?.frame ?? "");
  list.dataset.count = String(shown.length);
  while (list.children.length > shown.length) {
    list.lastElementChild?.remove();
  }
  while (list.children.length < shown.length) {
    list.append(template.content.cloneNode(true));
  }
  shown.forEach((player, i) => drawPlayer(/** @type {HTMLElement} */ (list.children[i]), player));
}

/** What has to be said in words; empty while a game is shown and all is well. */
function statusText() {
  const view = stream.station(station);
  if (stream.problem) {
    return stream.problem;
  }
  if (stream.connection !== "open") {
    return view.game === null ? "connecting" : "reconnecting";
  }
  if (view.game !== null) {
    return view.game.format === FORMAT ? "" : `no overlay for this game yet (${view.game.format})`;
  }
  return view.state === "offline" ? "station offline" : "waiting for a game";
}

/**
 * @param {HTMLElement} card
 * @param {Player} player
 */
function drawPlayer(card, player) {
  card.dataset.port = String(player.port);
  card.dataset.colour = player.team || PORT_COLOURS[player.port - 1] || "red";
  card.classList.toggle("out", player.stocks === 0);
  setText(find(".name bdi", card), player.name);
  setText(find(".fighter", card), player.character);
  setText(find(".costume", card), player.costume);
  drawStocks(find(".stocks", card), player);
  drawPercent(find(".percent", card), player);
}

/**
 * @param {HTMLElement} line
 * @param {Player} player
 */
function drawStocks(line, { stocks, startStocks }) {
  line.hidden = stocks === null;
  const key = `${stocks}/${startStocks}`;
  if (stocks === null || line.dataset.key === key) {
    return;
  }
  line.dataset.key = key;
  line.dataset.stocks = String(stocks);
  setText(find(".text", line), stocksText(stocks));
  const most = Math.max(stocks, startStocks);
  const icons = most > MOST_ICONS ? [icon(stocks === 0), `× ${stocks}`] : discs(stocks, most);
  find(".icons", line).replaceChildren(...icons);
}

/**
 * @param {number} stocks
 * @param {number} most
 */
function discs(stocks, most) {
  return Array.from({ length: most }, (_, i) => icon(i >= stocks));
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
  const shown = percent === null ? "–" : String(percent);
  const value = find(".value", line);
  if (value.textContent === shown) {
    return;
  }
  if (percent !== null && percent > Number(value.textContent || Infinity)) {
    const again = line.classList.contains("hit");
    line.classList.toggle("hit", !again);
    line.classList.toggle("hit-again", again);
  }
  value.textContent = shown;
  line.style.color = damageColour(percent);
}

/** @param {string} text */
function setStatus(text) {
  setText(status, text);
  status.hidden = text === "";
}

/**
 * @param {HTMLElement} element
 * @param {string} text
 */
function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}
