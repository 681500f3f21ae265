/**
 * The dashboard: an overview of all stations, details of one of them, recent games, and the health of the daemon.
 *
 * One subscription receives a few frames and fields of all stations. A second one receives all frames of the open station.
 * The URL fragment selects the details: `#station/NAME` or `#game/ID`; `#first-run` is the page of the first run. Options in the URL: `token`; `delta=1` for distant
 * viewers.
 */

import { FIELDS, loadNames } from "../slippi.js";
import { Stream } from "../slpstream.js";
import { Daemon } from "./daemon.js";
import { clone, fill, find, setAttribute, setText, element } from "./dom.js";
import { GameDetail, StationDetail } from "./detail.js";
import { FirstRun } from "./first_run.js";
import { gameOf, timesOf } from "./listed_game.js";
import { Match } from "./match.js";
import { loadAttackNames } from "./attacks.js";
import { clockText, placeName, playersOf, resultOf, showPlayers, whoText, winnersOf } from "./rows.js";

/**
 * @typedef {Record<string, any>} Station  As `/v1/stations` describes it.
 * @typedef {{kind: "" | "station" | "game", id: string}} Route
 */

/** Frames per second that the cards show. */
const RATE = 4;
const DRAW_MS = 100;
const FIRST_RUN = "#first-run";

const query = new URLSearchParams(location.search);
const token = query.get("token") ?? undefined;
/** Token and encoding of the subscriptions. */
const access = {
  protocol: /** @type {"json" | "delta"} */ (query.get("delta") === "1" ? "delta" : "json"),
  ...(token === undefined ? {} : { token }),
};
const base = new URL("../..", import.meta.url);
const list = find(".stations");
const panel = find(".detail");

/** The current game of each station. @type {Map<string, Match>} */
const matches = new Map();
let drawnAt = -Infinity;
let drawing = false;
/** @type {StationDetail | GameDetail | null} */
let detail = null;
/** The route of the open details, as `KIND/ID`. */
let openRoute = "";
/** Whether a station has been seen playing. */
let played = false;
/** The station of the demo, while there is one. */
let demo = "";
/** Fragment of the link that opened the details. */
let openedFrom = "";

const daemon = new Daemon(base, token, drawSoon);
const feed = new Stream({
  station: "*",
  topics: ["game", "frame", "event"],
  fields: [...FIELDS],
  rate: RATE,
  base,
  ...access,
  onMessage: take,
  onChange: drawSoon,
});
const firstRun = new FirstRun(find(".first-run"), overlayOf, drawSoon);
loadNames(drawSoon);
loadAttackNames(drawSoon);
for (const link of document.querySelectorAll("a[data-keep-token]")) {
  const anchor = /** @type {HTMLAnchorElement} */ (link);
  anchor.href = withToken(new URL(anchor.href));
}
addEventListener("hashchange", () => {
  openDetail();
  moveFocus();
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && detail !== null && location.hash !== "") {
    location.hash = "";
  }
});
document.addEventListener("visibilitychange", drawSoon);
openDetail();

/**
 * @param {import("./match.js").Message} message
 * @param {import("../slpstream.js").StationView} view
 */
function take(message, view) {
  let match = matches.get(view.station);
  if (match === undefined) {
    match = new Match(view);
    matches.set(view.station, match);
  }
  match.take(message);
  if (message.type === "game_end" && !view.catchingUp) {
    daemon.gamesChanged();
    announceResult(view);
  }
}

function drawSoon() {
  if (drawing) {
    return;
  }
  drawing = true;
  const wait = DRAW_MS - (performance.now() - drawnAt);
  setTimeout(() => requestAnimationFrame(draw), Math.max(0, wait));
}

function draw() {
  drawing = false;
  drawnAt = performance.now();
  const { stations, health } = daemon;
  document.body.classList.toggle("stale", health.state === "unreachable" || feed.connection !== "open");
  find(".empty").hidden = stations.length > 0 || health.state !== "ready";
  fill(list, stations, () => clone("station-card"), drawCard);
  setText(find(".count"), countText(stations));
  drawHealth();
  drawGames();
  followDemo();
  openDetail();
  drawFirstRun();
  detail?.draw(daemon);
}

/** The page of the first run is shown until there is anything else to see. A link leads back to it. */
function drawFirstRun() {
  const section = find(".first-run");
  section.hidden = !showsFirstRun();
  if (!section.hidden) {
    firstRun.draw(daemon);
  }
}

function showsFirstRun() {
  return location.hash === FIRST_RUN || (location.hash === "" && isFirstRun());
}

/** Whether there is no game yet, neither played nor on the disk, as far as this is known. */
function isFirstRun() {
  const own = daemon.stations.filter((station) => !station.demo);
  const isEmpty = own.every(({ files, game, starting }) => !starting && !game && files?.finished === 0);
  return own.length > 0 && daemon.games?.length === 0 && isEmpty && !played;
}

/** Leaves the page of the first run when a game begins, and the demo's station when it ends. */
function followDemo() {
  const playing = daemon.stations.some((station) => !station.demo && stateOf(station) === "playing");
  if (playing && location.hash === FIRST_RUN) {
    location.hash = "";
  }
  played ||= playing;
  const station = daemon.stations.find((each) => each.demo)?.id ?? "";
  if (demo !== "" && station === "" && location.hash === `#station/${encodeURIComponent(demo)}`) {
    location.hash = "";
  }
  demo = station;
}

/** @param {Station[]} stations */
function countText(stations) {
  const playing = stations.filter((station) => stateOf(station) === "playing").length;
  return stations.length ? `${playing} of ${stations.length} playing` : "";
}

/** @param {Station} station */
function stateOf(station) {
  const view = feed.station(station.id);
  const { state, starting } = feed.connection === "open" && view.state !== "unknown" ? view : station;
  return starting ? "starting" : state;
}

/**
 * @param {HTMLElement} card
 * @param {Station} station
 */
function drawCard(card, station) {
  const view = feed.station(station.id);
  const state = stateOf(station);
  const link = find(".open", card);
  card.dataset.station = station.id;
  card.dataset.state = state;
  setAttribute(link, "href", `#station/${encodeURIComponent(station.id)}`);
  setText(link, station.name);
  const route = routeOf(location.hash);
  setAttribute(link, "aria-current", String(route.kind === "station" && route.id === station.id));
  setText(find(".state", card), state);
  find(".state", card).dataset.state = state;
  if (view.catchingUp) {
    return;
  }
  const game = view.game ?? lastGame(station);
  card.dataset.game = view.game?.gameId ?? "";
  card.dataset.ended = String(game !== null && game.end !== null);
  setText(find(".stage", card), game === null ? "" : placeName(game));
  setText(find(".clock", card), game === null ? "" : clockText(game));
  setText(find(".lag", card), lagText(station, state));
  const set = view.game === null ? null : view.set;
  showPlayers(find(".players", card), playersOf(game, set), winnersOf(game), set);
  setText(find(".note", card), noteOf(station, game, set, state));
}

/**
 * @param {Station} station
 * @param {import("../slpstream.js").Game | null} game
 * @param {import("../slpstream_types.js").SetScore | null} set
 * @param {string} state
 */
function noteOf(station, game, set, state) {
  const reason = ["playing", "idle", "starting"].includes(state) ? "" : station.reason;
  const result = game === null ? "" : resultOf(game, set);
  const noGame = game === null && state === "idle" ? "No game yet" : "";
  return [reason, result, noGame, station.degraded].filter(Boolean).join(" · ");
}

/**
 * The last game, for a page that is opened after it: the newest one in the list, or else that of the station.
 * @param {Station} station
 */
function lastGame(station) {
  const item = daemon.games?.find((each) => each.station === station.id && each.reason) ?? station.game;
  return item === undefined || item.inProgress ? null : gameOf(item);
}

/**
 * @param {Station} station
 * @param {string} state
 */
function lagText(station, state) {
  const lag = daemon.lag(station.id);
  return lag === "" || state !== "playing" ? "" : `lag ${lag}`;
}

function drawHealth() {
  const { health, stations } = daemon;
  const pill = find(".health");
  pill.dataset.health = health.state;
  const problem = health.state === "ready" && feed.connection === "waiting" ? feed.problem || "live updates interrupted" : "";
  setText(find(".text", pill), problem || health.text);
  const missing = find(".missing");
  missing.hidden = health.missing.length === 0;
  fill(missing, health.missing, () => element("li"), setText);
  const subscribers = stations.reduce((sum, station) => sum + (station.subscribers ?? 0), 0);
  const figures = [
    ["Version", feed.version],
    ["Response time", health.responseMs === null ? "" : `${Math.max(1, Math.round(health.responseMs))} ms`],
    ["Subscribers", String(subscribers)],
    ["Websockets", health.websockets === null ? "" : String(health.websockets)],
    ["Missed messages", health.missed === null ? "" : String(health.missed)],
    ["Memory", health.memoryBytes === null ? "" : `${Math.round(health.memoryBytes / 2 ** 20)} MiB`],
    ["Highest lag", daemon.highestLag],
  ];
  fill(find(".figures"), figures.filter(([, value]) => value !== ""), newFigure, (row, [name, value]) => {
    setText(find("dt", row), name);
    setText(find("dd", row), value);
  });
}

function newFigure() {
  const row = element("div");
  row.append(element("dt"), element("dd"));
  return row;
}

function drawGames() {
  const games = (daemon.games ?? []).filter((item) => item.reason);
  find(".recent").hidden = games.length === 0;
  fill(find(".games"), games, () => clone("recent-game"), (row, item) => {
    const game = gameOf(item);
    const players = playersOf(game);
    const link = find(".open", row);
    setAttribute(link, "href", `#game/${encodeURIComponent(item.gameId)}`);
    setAttribute(link, "aria-current", String(location.hash === `#game/${item.gameId}`));
    setText(find(".who", row), players.length ? whoText(game, players) : game.format);
    const result = players.length ? resultOf(game) : "";
    setText(find(".facts", row), [result, placeName(game), stationName(item.station)].filter(Boolean).join(" · "));
    const time = find("time", row);
    const { moment, own } = timesOf(item);
    setAttribute(time, "datetime", moment);
    setText(time, moment ? `· ${timeOfDay(moment)}${own ? ` (own clock: ${timeOfDay(own)})` : ""}` : "");
  });
}

/** @param {string} id */
function stationName(id) {
  return daemon.stations.find((station) => station.id === id)?.name ?? id ?? "";
}

/** @param {string} moment */
function timeOfDay(moment) {
  const date = new Date(moment);
  const today = new Date().toDateString() === date.toDateString();
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return today ? time : `${date.toLocaleDateString()} ${time}`;
}

/**
 * Announces a result to screen readers. Results are rare enough not to interrupt.
 * @param {import("../slpstream.js").StationView} view
 */
function announceResult(view) {
  const result = view.game === null ? "" : resultOf(view.game, view.set);
  if (result !== "") {
    setText(find(".news"), `${stationName(view.station)}: ${result}`);
  }
}

/**
 * @param {string} hash
 * @returns {Route}
 */
function routeOf(hash) {
  const [, kind, id] = /^#(station|game)\/(.+)$/.exec(hash) ?? [];
  if (kind === "station" || kind === "game") {
    return { kind, id: decodeURIComponent(id) };
  }
  // A single station is open by default.
  const [only] = daemon.stations;
  return only !== undefined && daemon.stations.length === 1 ? { kind: "station", id: only.id } : { kind: "", id: "" };
}

function openDetail() {
  const route = routeOf(location.hash);
  const key = `${route.kind}/${route.id}`;
  if (key === openRoute) {
    return;
  }
  openRoute = key;
  detail?.close();
  detail = null;
  panel.replaceChildren();
  panel.hidden = route.kind === "";
  document.body.dataset.route = route.kind;
  document.body.classList.toggle("single", location.hash === "" && route.kind === "station");
  if (route.kind === "station") {
    detail = new StationDetail(panel, route.id, { access, base, overlay: overlayOf(route.id), onChange: drawSoon });
  } else if (route.kind === "game") {
    detail = new GameDetail(panel, route.id, drawSoon);
  }
  document.title = route.kind === "station" ? `${stationName(route.id)} · slpstream` : "slpstream";
  drawSoon();
}

/** Moves the focus, for keyboards and screen readers: to the heading of the opened details, or back to their link. */
function moveFocus() {
  if (location.hash.includes("/")) {
    openedFrom = location.hash;
    panel.querySelector("h2")?.focus({ preventScroll: true });
    if (find(".lists").offsetParent === null) {
      scrollTo(0, 0); // on phones the details replace the list
    }
  } else if (openedFrom) {
    const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll(".lists .open")]);
    (links.find((link) => link.hash === openedFrom) ?? find("#stations")).focus();
    openedFrom = "";
  }
}

/** @param {string} station */
function overlayOf(station) {
  return withToken(new URL(`overlay/${encodeURIComponent(station)}`, base));
}

/** @param {URL} url */
function withToken(url) {
  if (token !== undefined) {
    url.searchParams.set("token", token);
  }
  return url.href;
}
