/** The results of all stations in a running line, `/scenes/ticker`. */

import { Api } from "../api.js";
import { find, make, setText } from "../dom.js";
import { sponsorLogo, sponsorsWithLogo } from "../icons/icons.js";
import { StationView } from "../slpstream.js";
import { number, text } from "../texts/texts.js";
import { openScene, preparePage } from "./page.js";
import { namesOf, peopleOf, sidesOf } from "./people.js";
import { StationNames } from "./station_names.js";

/** @typedef {import("../slpstream_types.js").SetScore} SetScore */

const REM_PER_SECOND = 6;
const STILL_MS = 5000;
const LOGO_MS = 6000;
/** Finished sets stay in the line after their station has begun another one. */
const MAX_FINISHED = 24;

const options = preparePage();
const root = find(".scene");
const board = find(".board");
const status = find(".status");
/** @type {Map<string, StationView>} */
const views = new Map();
const names = new StationNames(new Api(options.token), () => drawSoon());
/** Newest last, by the id of the set. @type {Map<string, {station: string, set: SetScore}>} */
const finished = new Map();
const stands = !options.motion || matchMedia("(prefers-reduced-motion: reduce)").matches;
let connection = "connecting";
let problem = "";
let turned = 0;
let turnAt = 0;
/** The logo of one sponsor after another, at the end of the line. */
const logos = make("p.logos");
let logoAt = 0;

document.title = "slpstream ticker";
const drawSoon = openScene(options, { stations: "*", topics: ["game"], take, draw });

/** @param {Record<string, any>} message */
function take(message) {
  if (message.type === "connection") {
    ({ connection, problem } = /** @type {any} */ (message));
  } else if (typeof message.station === "string") {
    const view = views.get(message.station) ?? new StationView(message.station);
    views.set(message.station, view);
    if (message.type === "reset") {
      view.reset();
      return;
    }
    view.take(message);
    const { set } = view;
    if (set !== null && set.state === "over" && set.setId !== undefined) {
      finished.delete(set.setId);
      finished.set(set.setId, { station: view.station, set });
      if (finished.size > MAX_FINISHED) {
        finished.delete([...finished.keys()][0]);
      }
    }
  }
}

/** @param {number} now */
function draw(now) {
  root.classList.toggle("stale", connection !== "open");
  setText(status, problem);
  status.hidden = problem === "";
  const running = [...views.values()].filter(({ set }) => set !== null && set.state !== "over" && set.players.length > 1);
  running.sort((a, b) => (a.station < b.station ? -1 : 1));
  const items = [
    ...running.map(({ station, set }) => itemOf(station, /** @type {SetScore} */ (set))),
    ...[...finished.values()].reverse().map(({ station, set }) => itemOf(station, set)),
  ];
  board.hidden = items.length === 0;
  root.dataset.phase = board.hidden ? "waiting" : "shown";
  if (stands && now >= turnAt) {
    turned++;
    turnAt = now + STILL_MS;
  }
  const key = JSON.stringify(items) + (stands ? turned : "");
  if (board.dataset.shown !== key) {
    board.dataset.shown = key;
    const from = stands && items.length > 0 ? turned % items.length : 0;
    const order = [...items.slice(from), ...items.slice(0, from)];
    const line = (/** @type {boolean} */ hidden) => {
      const created = make("ul.items", ...order.map(itemElement));
      created.setAttribute("aria-hidden", String(hidden));
      return created;
    };
    const crawl = make("div.crawl", line(false), ...(stands ? [] : [line(true)]));
    const view = make(stands ? "div.window.still" : "div.window", crawl);
    board.replaceChildren(make("p.kicker", text("scene.results")), view, logos);
    if (stands) {
      fitItem(view);
    }
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    crawl.style.setProperty("--seconds", `${Math.max(10, crawl.scrollWidth / 2 / rem / REM_PER_SECOND).toFixed(1)}s`);
  }
  const times = [...(stands && items.length > 1 ? [turnAt] : []), ...drawLogo(now)];
  return times.length === 0 ? null : Math.min(...times);
}

/**
 * @param {number} now
 * @returns {number[]} When to show the next logo.
 */
function drawLogo(now) {
  const sponsors = options.sponsors ? sponsorsWithLogo() : [];
  logos.hidden = sponsors.length === 0;
  if (sponsors.length > 0 && now >= logoAt) {
    logoAt = now + LOGO_MS;
    const shown = sponsors.indexOf(logos.dataset.sponsor ?? "");
    const next = sponsors[(shown + 1) % sponsors.length];
    const logo = sponsorLogo(next);
    logos.dataset.sponsor = next;
    logos.replaceChildren(...(logo === null ? [] : [logo]));
  }
  return sponsors.length > 1 ? [logoAt] : [];
}

/**
 * @typedef {object} Item
 * @property {string} station
 * @property {string} state
 * @property {{names: string, score: number, won: boolean}[]} sides
 */

/**
 * @param {string} station
 * @param {SetScore} set
 * @returns {Item}
 */
function itemOf(station, set) {
  const key = set.state === "over" ? "scene.final" : set.state === "upcoming" ? "scene.up_next" : "scene.now";
  const sides = sidesOf(peopleOf(null, set), set).map(({ people, score }) => ({
    names: namesOf(people),
    score: score ?? 0,
    won: set.winner !== undefined && set.players.some(({ playerIndex, side }) => side === set.winner && playerIndex === people[0]?.index),
  }));
  return { station: names.of(station), state: [text(key), set.round].filter(Boolean).join(" · "), sides };
}

/**
 * Sets the first item smaller if it is wider than the line, which does not move.
 * @param {HTMLElement} view
 */
function fitItem(view) {
  const item = view.querySelector("li");
  if (item !== null && item.offsetWidth > view.clientWidth) {
    item.style.fontSize = `${(parseFloat(getComputedStyle(item).fontSize) * view.clientWidth) / (item.offsetWidth + 1)}px`;
  }
}

/** @param {Item} item */
function itemElement({ station, state, sides }) {
  const names = sides.flatMap(({ names: words, score, won }) => [
    make(won ? "bdi.names.won" : "bdi.names", words),
    make("span.points", number(score)),
  ]);
  return make("li.item", make("span.station", station), ...names, make("span.state", state));
}
