/** The start page: the stations, what is played on them, and the addresses of their overlays. Option in the URL: `token`. */

import { FIELDS, FORMAT, clock, loadNames, players, stageName, stocksText } from "./slippi.js";
import { Stream } from "./slpstream.js";

/** @typedef {Record<string, any>} Station  As `/v1/stations` describes it. */

const REFRESH_MS = 2000;
const ANSWER_MS = 5000;
const COPIED_MS = 1500;
/** Values in the list change a few times a second: it is a list, not an overlay. */
const RATE = 6;
const PORT_COLOURS = ["red", "blue", "yellow", "green"];

const token = new URLSearchParams(location.search).get("token") ?? undefined;
const base = new URL("..", import.meta.url);

/** @type {(selector: string, root?: ParentNode) => HTMLElement} */
const find = (selector, root = document) => /** @type {HTMLElement} */ (root.querySelector(selector));

const list = find(".stations");
/** @type {Station[]} */
let stations = [];
let drawing = false;

const stream = new Stream({ station: "*", fields: [...FIELDS], rate: RATE, token, onChange: drawSoon });
loadNames(drawSoon);
for (const link of document.querySelectorAll("a[data-keep-token]")) {
  const anchor = /** @type {HTMLAnchorElement} */ (link);
  anchor.href = withToken(new URL(anchor.href));
}
refresh();

// -- asking the daemon --------------------------------------------------------------------------------------------------

async function refresh() {
  try {
    const [described, ready] = await Promise.all([ask("v1/stations"), ask("readyz")]);
    if (described.status === 200) {
      stations = described.body.stations;
      setHealth(ready.body.status, ready.body.status, ready.body.missing);
    } else {
      const missing = described.status === 401 ? "access token needed: open this page with ?token=" : described.body.detail;
      setHealth("unreachable", missing);
    }
  } catch {
    setHealth("unreachable", "daemon not reachable");
  }
  drawSoon();
  setTimeout(refresh, REFRESH_MS);
}

/** @param {string} path */
async function ask(path) {
  const answer = await fetch(new URL(path, base), {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  return { status: answer.status, body: await answer.json() };
}

/**
 * @param {string} health
 * @param {string} text
 * @param {string[]} missing
 */
function setHealth(health, text, missing = []) {
  const line = find(".health");
  line.dataset.health = health;
  document.body.classList.toggle("stale", health === "unreachable");
  setText(find(".text", line), text);
  fill(find(".missing"), missing, () => document.createElement("li"), setText);
}

// -- drawing ------------------------------------------------------------------------------------------------------------

function drawSoon() {
  if (!drawing) {
    drawing = true;
    requestAnimationFrame(draw);
  }
}

function draw() {
  drawing = false;
  find(".empty").hidden = stations.length > 0 || find(".health").dataset.health !== "ready";
  setText(find(".version"), stream.version && `version ${stream.version}`);
  fill(list, stations, newCard, drawStation);
}

function newCard() {
  const card = clone("#station");
  const url = /** @type {HTMLInputElement} */ (find(".url", card));
  url.addEventListener("focus", () => url.select());
  const button = /** @type {HTMLButtonElement} */ (find(".copy", card));
  button.addEventListener("click", () => copy(url, button));
  return card;
}

/**
 * @param {HTMLElement} card
 * @param {Station} station
 */
function drawStation(card, station) {
  const view = stream.station(station.id);
  const live = stream.connection === "open" && view.state !== "unknown";
  const state = live ? view.state : station.state;
  card.dataset.station = station.id;
  setText(find(".name", card), station.name);
  setText(find(".id", card), station.name === station.id ? "" : station.id);
  setText(find(".state", card), state);
  find(".state", card).dataset.state = state;
  setText(find(".reason", card), live ? view.reason : station.reason);
  setText(find(".more", card), more(station));
  drawGame(find(".game", card), view);
  drawLink(card, station);
}

/**
 * @param {HTMLElement} area
 * @param {import("./slpstream.js").StationView} view
 */
function drawGame(area, view) {
  if (view.catchingUp) {
    return;
  }
  const game = view.game?.format === FORMAT ? view.game : null;
  area.hidden = game === null;
  if (game === null) {
    return;
  }
  setText(find(".stage", area), stageName(game));
  setText(find(".clock", area), clock(game));
  find(".ended", area).hidden = game.end === null;
  fill(find(".players", area), players(game), () => clone("#player"), drawPlayer);
}

/**
 * @param {HTMLElement} row
 * @param {import("./slippi.js").Player} player
 */
function drawPlayer(row, player) {
  row.dataset.colour = player.team || PORT_COLOURS[player.port - 1] || "red";
  row.classList.toggle("out", player.stocks === 0);
  setText(find(".name", row), player.name);
  setText(find(".character", row), [player.character, player.costume].filter(Boolean).join(" · "));
  setText(find(".stocks", row), player.stocks === null ? "" : stocksText(player.stocks));
  setText(find(".percent", row), player.percent === null ? "–" : `${player.percent}%`);
}

/**
 * @param {HTMLElement} card
 * @param {Station} station
 */
function drawLink(card, station) {
  const address = withToken(new URL(`overlay/${encodeURIComponent(station.id)}`, base));
  const open = /** @type {HTMLAnchorElement} */ (find(".open", card));
  if (open.href !== address) {
    open.href = address;
    /** @type {HTMLInputElement} */ (find(".url", card)).value = address;
  }
  setText(open, "Open the overlay");
  find(".url", card).setAttribute("aria-label", `Address of the overlay of ${station.name}, for OBS`);
  find(".copy", card).setAttribute("aria-label", `Copy the address of the overlay of ${station.name}`);
}

/** @param {Station} station */
function more({ subscribers, files, degraded }) {
  const parts = [
    `${subscribers} ${subscribers === 1 ? "subscriber" : "subscribers"}`,
    `${files.finished} ${files.finished === 1 ? "replay" : "replays"} in the folder`,
  ];
  return degraded ? [...parts, degraded].join(" · ") : parts.join(" · ");
}

// -- small things -------------------------------------------------------------------------------------------------------

/**
 * @param {HTMLInputElement} url
 * @param {HTMLButtonElement} button
 */
async function copy(url, button) {
  try {
    await navigator.clipboard.writeText(url.value);
  } catch {
    // Browsers give the clipboard to secure pages only; over plain HTTP from another machine the old way still works.
    url.select();
    document.execCommand("copy");
  }
  setText(button, "Copied");
  setTimeout(() => setText(button, "Copy"), COPIED_MS);
}

/**
 * One child of `parent` for each value, in their order.
 * @template T
 * @param {HTMLElement} parent
 * @param {T[]} values
 * @param {() => HTMLElement} make
 * @param {(element: HTMLElement, value: T) => void} show
 */
function fill(parent, values, make, show) {
  while (parent.children.length > values.length) {
    parent.lastElementChild?.remove();
  }
  while (parent.children.length < values.length) {
    parent.append(make());
  }
  values.forEach((value, i) => show(/** @type {HTMLElement} */ (parent.children[i]), value));
}

/** @param {string} selector */
function clone(selector) {
  const template = /** @type {HTMLTemplateElement} */ (find(selector));
  return /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
}

/** @param {URL} url */
function withToken(url) {
  if (token !== undefined) {
    url.searchParams.set("token", token);
  }
  return url.href;
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
