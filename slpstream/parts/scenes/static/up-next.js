/** The next sets, `/scenes/up-next/{station}`: the announced set of the station, and those of the others. */

import { Api } from "../api.js";
import { find, make, setText } from "../dom.js";
import { StationView } from "../slpstream.js";
import { number, text } from "../texts/texts.js";
import { aligned, fitted, heading, plate, rebuild } from "./boards.js";
import { currentStation, openScene, preparePage, station } from "./page.js";
import { namesOf, peopleOf, sidesOf } from "./people.js";
import { StationNames } from "./station_names.js";
import { lengthWords } from "./words.js";

/** @typedef {import("../slpstream_types.js").SetScore} SetScore */

const MAX_QUEUE = 6;
const options = preparePage();
const root = find(".scene");
const board = find(".board");
const status = find(".status");
/** @type {Map<string, StationView>} */
const views = new Map();
const names = new StationNames(new Api(options.token), () => drawSoon());
let connection = "connecting";
let problem = "";

document.title = `${station} · slpstream up-next`;
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
    } else {
      view.take(message);
    }
  }
}

function draw() {
  root.classList.toggle("stale", connection !== "open");
  setText(status, problem);
  status.hidden = problem === "";
  const own = views.get(currentStation())?.set ?? null;
  const next = isAnnounced(own) ? own : null;
  const others = [...views.values()].filter(({ station: name, set }) => name !== currentStation() && set !== null && hasNames(set));
  others.sort((a, b) => Number(b.set?.state === "upcoming") - Number(a.set?.state === "upcoming") || (a.station < b.station ? -1 : 1));
  const queue = others.slice(0, MAX_QUEUE);
  board.hidden = next === null && queue.length === 0;
  root.dataset.phase = board.hidden ? "waiting" : "shown";
  rebuild(board, [next, queue.map(({ station: id, set }) => [names.of(id), set])], () => {
    const parts = [heading(next ?? own, lengthWords(next))];
    parts.push(make("p.kicker", text(next === null ? "scene.elsewhere" : "scene.up_next")));
    if (next !== null) {
      const [left, right] = sidesOf(peopleOf(null, next), next).map((side, i) =>
        make(`section.side.${i === 0 ? "left" : "right"}`, ...side.people.map((person) => plate(person))),
      );
      parts.push(aligned(make("div.sides", left, make("p.versus", text("scene.versus")), right)));
    }
    if (queue.length > 0) {
      parts.push(make("ol.queue", ...queue.map(({ station: id, set }) => queueRow(names.of(id), /** @type {SetScore} */ (set)))));
    }
    return parts;
  });
  return null;
}

/** @param {SetScore | null} set */
function isAnnounced(set) {
  return set !== null && set.state === "upcoming" && hasNames(set);
}

/** @param {SetScore} set */
function hasNames(set) {
  return set.players.length > 1 && set.players.every(({ name }) => (name ?? "") !== "");
}

/**
 * @param {string} name
 * @param {SetScore} set
 */
function queueRow(name, set) {
  const sides = sidesOf(peopleOf(null, set), set);
  const [left, right] = sides.map(({ people }) => namesOf(people));
  const state = set.state === "upcoming" ? text("scene.up_next") : set.state === "over" ? text("scene.final") : text("scene.now");
  return make(
    "li.queued",
    make("span.station", name),
    fitted("span.name.left", left),
    make("span.running", set.state === "upcoming" ? text("scene.versus") : sides.map(({ score }) => number(score ?? 0)).join("–")),
    fitted("span.name.right", right),
    make("span.state", [state, set.round].filter(Boolean).join(" · ")),
  );
}
