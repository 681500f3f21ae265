/**
 * The scene of the director, `/scenes/director`: its stations as tiles, of which the chosen one is large. With `layout=quad`
 * it has frames and labels for four captures.
 */

import { Api, NoAnswer, Status } from "../api.js";
import { find, setText } from "../dom.js";
import { subscription } from "../odds_option.js";
import { STAGE_FIELDS } from "../replay.js";
import { addNote, isExample, openScene, preparePage } from "../scene_page.js";
import { FIELDS } from "../slippi.js";
import { addTexts, text } from "../texts/texts.js";
import { sleep } from "../timing.js";
import { Tile } from "./director_tile.js";
import { QUAD_STATIONS, areasOf } from "./director_layout.js";

await addTexts(import.meta.url);

/** @typedef {{chosen: string | null, stations: {id: string, name: string, exists: boolean}[]}} Director */

const QUAD = "quad";
const RETRY_MS = 3000;

const query = new URLSearchParams(location.search);
const layout = query.get("layout");
const isQuad = layout === QUAD;
query.delete("layout"); // the scene has a layout of its own
const options = preparePage({}, query);
const isStill = !options.motion || matchMedia("(prefers-reduced-motion: reduce)").matches;
const root = find(".director");
const list = find(".tiles");
const status = find(".status");
const api = new Api(options.token);
let connection = "connecting";
let problem = "";
/** Whether the page has lost its connection, so that the stations may be others. */
let wasLost = false;

document.documentElement.classList.toggle("fill", options.fill);
if (isQuad) {
  list.classList.add(QUAD);
} else if (layout !== null) {
  addNote(text("scene.invalid_option", { name: "layout", value: layout, expected: QUAD }));
}
const director = isExample ? (await import("./director_example.js")).EXAMPLE : await configured();
let chosen = director.chosen ?? "";
const shown = isQuad ? director.stations.slice(0, QUAD_STATIONS) : director.stations;
/** @type {Map<string, Tile>} */
const tiles = new Map(shown.map(({ id, name }) => [id, new Tile(id, name, { isStill, isQuad, holdMs: options.hold })]));
list.append(...[...tiles.values()].map((tile) => tile.root));
list.dataset.count = String(tiles.size);
place();
root.dataset.phase = "shown";
openScene(options, {
  stations: shown.filter(({ exists }) => exists).map(({ id }) => id),
  topics: isQuad ? ["game"] : ["game", "frame", "event"],
  fields: [...FIELDS, ...STAGE_FIELDS],
  also: ["director", ...(subscription.also ?? [])],
  take,
  draw,
  playExample: async (push) => (await import("./director_example.js")).playExample(push),
  hasFramesOfSeveral: true,
});
if (shown.some(({ exists }) => !exists)) {
  reloadWhenChanged();
}

/** The choice and the stations. Waits until the daemon has a director and one of its stations. @returns {Promise<Director>} */
async function configured() {
  for (;;) {
    const found = await asked();
    status.hidden = typeof found !== "string";
    if (typeof found !== "string") {
      return found;
    }
    setText(status, found);
    await sleep(RETRY_MS);
  }
}

/** The choice and the stations, or the reason in words why there are none. @returns {Promise<Director | string>} */
async function asked() {
  let answers;
  try {
    answers = await Promise.all([api.get("v1/director"), api.get("v1/stations")]);
  } catch (error) {
    if (error instanceof NoAnswer) {
      return text("page.no_response");
    }
    throw error;
  }
  const [choice, known] = answers;
  if (choice.status !== Status.OK || known.status !== Status.OK) {
    const isRefused = choice.status === Status.UNAUTHORISED;
    return text(!isRefused ? "page.no_response" : options.token === undefined ? "problem.no_token" : "problem.wrong_token");
  }
  /** @type {Map<string, string>} */
  const names = new Map(known.body.stations?.map((/** @type {any} */ { id, name }) => [id, name]));
  const ids = /** @type {string[]} */ (choice.body.stations ?? []);
  const stations = ids.map((id) => ({ id, name: names.get(id) ?? id, exists: names.has(id) }));
  if (!stations.some(({ exists }) => exists)) {
    return text(ids.length === 0 ? "director.off" : "director.none");
  }
  return { chosen: choice.body.station ?? null, stations };
}

/** Loads the page again if the director has other stations now. Waits for those that do not exist yet. */
async function reloadWhenChanged() {
  for (;;) {
    const now = await asked();
    if (typeof now !== "string") {
      if (JSON.stringify(now.stations) !== JSON.stringify(director.stations)) {
        location.reload();
        return;
      }
      if (now.stations.every(({ exists }) => exists)) {
        return;
      }
    }
    await sleep(RETRY_MS);
  }
}

/**
 * @param {Record<string, any>} message
 * @param {number} now
 */
function take(message, now) {
  if (message.type === "connection") {
    ({ connection, problem } = /** @type {any} */ (message));
    if (connection === "open" && wasLost) {
      reloadWhenChanged();
    }
    wasLost = connection !== "open";
    return;
  }
  tiles.get(message.station)?.take(message, now);
  if (message.type === "director" && message.chosen) {
    choose(message.station);
  }
}

/** @param {number} now */
function draw(now) {
  root.classList.toggle("stale", connection !== "open");
  setText(status, problem);
  status.hidden = problem === "";
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const times = [...tiles.values()].flatMap((tile) => tile.draw(now, rem) ?? []);
  return times.length === 0 ? null : Math.min(...times);
}

/**
 * Makes a station large, with a view transition unless the page is still.
 * @param {string} station
 */
function choose(station) {
  const before = [...tiles.values()].find(({ root: each }) => each.classList.contains("large"))?.root;
  const after = tiles.get(station)?.root;
  chosen = station;
  if (before === after || isStill || isQuad || !("startViewTransition" in document)) {
    place();
    return;
  }
  name(before, "before");
  name(after, "large");
  const transition = document.startViewTransition(() => {
    name(before, "none");
    place();
  });
  transition.ready.catch(() => {}); // skipped in a hidden page; the tiles are in their places anyway
  transition.finished.finally(() => name(after, "none"));
}

/**
 * Names an element for the next view transition.
 * @param {HTMLElement | undefined} element
 * @param {string} value
 */
function name(element, value) {
  element?.style.setProperty("view-transition-name", value);
}

/** Puts every tile into its place. Without a choice, the first station is large. */
function place() {
  const ids = [...tiles.keys()];
  const areas = areasOf(ids.length, Math.max(0, ids.indexOf(chosen)));
  ids.forEach((id, i) => tiles.get(id)?.place(isQuad ? id === chosen : areas[i].isLarge, areas[i].area));
}
