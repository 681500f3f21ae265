/**
 * The page that replaces one that the daemon refuses. It explains the problem, and loads the requested page as soon as it is
 * available. In a browser source it is a small note in a corner.
 *
 * The problem is read from the daemon's response to the same address, requested again as a program does. So when it turns into
 * another one (the daemon starts, then lacks the station), the page shows the current problem.
 */

import { Api, ROOT } from "./api.js";
import { element, find, setText } from "./dom.js";
import { fillTexts, text } from "./texts/texts.js";

/**
 * @typedef {object} Problem
 * @property {Kind} kind
 * @property {string[]} [stations]  The ids of all stations if the page's own is unknown.
 *
 * @typedef {"no_token" | "wrong_token" | "unknown_station" | "starting" | "not_found" | "wrong_host" | "refused" | "internal" | "gone"} Kind
 */

const MIN_WAIT_MS = 1000;
const MAX_WAIT_MS = 15_000;
/** The daemon counts refusals and raises an alert, so retries are rare. */
const REFUSED_WAIT_MS = 15_000;
const MAX_REFUSED_WAIT_MS = 120_000;
const REFUSED = /** @type {readonly Kind[]} */ (["no_token", "wrong_token", "wrong_host", "refused"]);
const MAX_STATIONS = 40;

const path = location.pathname.slice(ROOT.pathname.length);
const api = new Api(new URLSearchParams(location.search).get("token") ?? undefined);
/** The station of a page that shows one; empty for other pages. */
const station = stationOf(path);
/** Whether the page belongs to a browser source, which is laid over a video. */
const isSource = /^(overlay|scenes|custom)\//.test(path);

/** @param {string} relative  A path below the daemon's root. */
function stationOf(relative) {
  const [, id = ""] = /^(?:overlay|scenes\/[^/]+)\/([^/]+)$/.exec(relative) ?? [];
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/** Asks for the page again. `null` means that it is available. @returns {Promise<Problem | null>} */
async function examine() {
  try {
    const response = await api.response(location.href, { headers: { accept: "application/problem+json" }, cache: "no-store" });
    return response.ok ? null : await problemOf(response);
  } catch {
    return { kind: "gone" };
  }
}

/**
 * @param {Response} response
 * @returns {Promise<Problem>}
 */
async function problemOf({ status, headers }) {
  switch (status) {
    case 401:
      return { kind: headers.get("www-authenticate")?.includes("invalid_token") ? "wrong_token" : "no_token" };
    case 403:
      return { kind: "refused" };
    case 404:
      return station === "" ? { kind: "not_found" } : await missingStation();
    case 421:
      return { kind: "wrong_host" };
    case 502:
    case 504:
      return { kind: "gone" }; // from a proxy
    case 503:
      return { kind: "starting" };
    default:
      return { kind: status < 500 ? "not_found" : "internal" };
  }
}

/** The reason why the page of a station is not found. @returns {Promise<Problem>} */
async function missingStation() {
  const { stations = [] } = (await api.get("v1/stations")).body;
  const ids = stations.map((/** @type {{id: string}} */ { id }) => id);
  if (ids.includes(station)) {
    return { kind: "not_found" }; // the station is known, but not this page about it
  }
  const { starting = [] } = (await api.get("readyz")).body;
  return starting.length > 0 ? { kind: "starting" } : { kind: "unknown_station", stations: ids };
}

/** @param {Problem} problem */
function show({ kind, stations = [] }) {
  document.body.dataset.problem = kind;
  setText(find(".what"), text(`problem.${kind}`, { station, page: `/${path}` }));
  setText(find(".advice"), text(`problem.${kind}.advice`, { host: location.host }));
  find(".advice").hidden = false;
  const list = find(".stations");
  find(".others").hidden = stations.length === 0;
  if (list.dataset.ids !== String(stations)) {
    list.dataset.ids = String(stations);
    list.replaceChildren(...stations.slice(0, MAX_STATIONS).map(stationItem));
  }
  find(".retry").hidden = false;
  setText(find(".when"), text("problem.retries"));
}

/**
 * The same page for another station.
 * @param {string} id
 */
function stationItem(id) {
  const item = element("li");
  item.append(element("a", id, { href: `${encodeURIComponent(id)}${location.search}` }));
  return item;
}

async function recover() {
  for (let attempt = 0; ; attempt++) {
    const problem = await examine();
    if (problem === null && attempt > 0) {
      location.reload();
      return;
    }
    // A page that is available at the first attempt is loaded after a wait too, so that a proxy that responds to people and
    // to programs differently does not make it reload all the time.
    const refused = problem !== null && REFUSED.includes(problem.kind);
    if (problem !== null) {
      show(problem);
    }
    const [first, longest] = refused ? [REFUSED_WAIT_MS, MAX_REFUSED_WAIT_MS] : [MIN_WAIT_MS, MAX_WAIT_MS];
    const wait = Math.min(longest, first * 1.5 ** Math.min(attempt, 12));
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wait * (0.75 + Math.random() / 2));
      addEventListener("online", () => (clearTimeout(timer), resolve(null)), { once: true });
    });
  }
}

fillTexts();
document.body.classList.toggle("whole", !isSource);
recover();
