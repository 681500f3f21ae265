/**
 * The dashboard: an overview of all stations, details of one of them, recent games, and the health of the daemon.
 *
 * One subscription receives a few frames and fields of all stations. A second one receives all frames of the open station.
 * The URL fragment selects the details: `#station/NAME` or `#game/ID`; `#wall` is the venue wall, `#remote` or
 * `#remote/NAME` the remote control for phones, `#first-run` the page of the first run, `#editor` the visual editor of scenes, `#login` the form for the token. Options in the URL: `token`, which is removed from it; `delta=1` for distant
 * viewers.
 */

import { ROOT, Status } from "../api.js";
import { loadAttackNames } from "../attacks.js";
import { clone, fill, find, setAttribute, setText, element } from "../dom.js";
import { clockText, placeName, playersOf, resultOf, winnersOf } from "../game_words.js";
import { onArrival } from "../late.js";
import { Match } from "../match.js";
import { subscription } from "../odds_option.js";
import { setOf } from "../set_score.js";
import { FIELDS, loadNames } from "../slippi.js";
import { Stream } from "../slpstream.js";
import { addTexts, fillTexts, number, text } from "../texts/texts.js";
import { sleep } from "../timing.js";
import { takeToken } from "../token.js";
import { attentionOf, isAbandoned, remarkOf } from "./attention.js";
import { setUpBracketLink } from "./bracket_link.js";
import { Daemon, reasonText, stateText } from "./daemon.js";
import { GameDetail, StationDetail } from "./detail.js";
import { FirstRun } from "./first_run.js";
import { setUpFooter } from "./footer.js";
import { GameSearch } from "./game_search.js";
import { endOf, gameAtEnd, lacksEnd, withNames } from "./listed_game.js";
import { Login } from "./login.js";
import { linkPages } from "./page_links.js";
import { partModule } from "./part_module.js";
import { showGames } from "./recent_games.js";
import { Remote } from "./remote.js";
import { showPlayers } from "./rows.js";

await addTexts(import.meta.url);

/**
 * @typedef {Record<string, any>} Station  As `/v1/stations` describes it.
 * @typedef {{kind: "" | "station" | "game" | "wall" | "editor" | "remote", id: string}} Route
 *
 * @typedef {object} Wall  The view of the part `wall`.
 * @property {boolean} shown
 * @property {readonly string[]} fields
 * @property {(stations: number) => number} rateOf
 * @property {(station: string, message: import("../match.js").Message) => void} take
 * @property {(stations: object[]) => void} draw
 * @property {() => void} invalidate
 *
 * @typedef {object} Editor  The view of the part `editor`.
 * @property {(hash: string, overview: string) => void} open
 * @property {() => void} close
 * @property {() => void} focus
 * @property {(stations: Station[]) => void} draw
 */

/** Frames per second that the cards show. */
const RATE = 4;
/** With more stations than this, the overview is the wall. */
const MAX_CARDS = 16;
const DRAW_MS = 100;
/** The wall draws frames by itself; this is for everything else. */
const DRAW_WALL_MS = 250;
/** The page asks for the rest after its first picture, and after this time in any case, as for a hidden page. */
const MAX_FIRST_PICTURE_MS = 2000;
const FIRST_RUN = "#first-run";
const EDITOR = "#editor";
const REMOTE = "#remote";
const WALL = "#wall";

const query = new URLSearchParams(location.search);
const token = takeToken();
/** Token and encoding of the subscriptions. */
const access = {
  protocol: /** @type {"json" | "delta"} */ (query.get("delta") === "1" ? "delta" : "json"),
  ...(token === undefined ? {} : { token }),
};
fillTexts();
const list = find(".stations");
const panel = find(".detail");

/** The current game of each station. @type {Map<string, Match>} */
const matches = new Map();
let drawnAt = -Infinity;
let subscribedRate = RATE;
let drawing = false;
let askedForBracket = false;
let askedForLinks = false;
/** @type {StationDetail | GameDetail | Remote | null} */
let detail = null;
/** The route of the open details, as `KIND/ID`. */
let openRoute = "";
/** Whether a station has been seen playing. */
let played = false;
/** The visual editor, once it has been opened. @type {Editor | null} */
let editor = null;
/** @type {Promise<Editor> | null} */
let opening = null;
/** The station of the demo, while the demo runs. */
let demo = "";
/** Fragment of the link that opened the details. */
let openedFrom = "";
/** Fragment of the overview that the details lead back to: that of the wall, or empty. */
let overview = "";

/** The venue wall and the offer of a demo; each `null` without its part. */
const [wall, demoOffer] = await Promise.all([loadWall(), loadDemoOffer()]);
/** Called after the first picture. @type {(value?: unknown) => void} */
let hasDrawn = () => {};
const firstPicture = new Promise((resolve) => (hasDrawn = resolve));
const daemon = new Daemon(token, drawSoon, Promise.race([firstPicture, sleep(MAX_FIRST_PICTURE_MS)]));
const feed = new Stream({
  station: "*",
  topics: ["game", "frame", "event"],
  fields: [...FIELDS],
  rate: RATE,
  finality: false,
  base: ROOT,
  ...(wall === null ? {} : subscription),
  ...access,
  onMessage: take,
  onChange: drawSoon,
});
const login = new Login(find(".login"), daemon);
const search = new GameSearch(find(".search"), daemon, drawSoon);
const firstRun = new FirstRun(find(".first-run"), overlayOf, drawSoon, demoOffer);
onArrival(() => {
  wall?.invalidate();
  drawSoon();
});
loadNames();
loadAttackNames();
setUpFooter(daemon);
addEventListener("hashchange", async () => {
  openDetail();
  if (isEditor(location.hash)) {
    await showEditor();
    editor?.focus();
  } else {
    moveFocus();
  }
});
find(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment of the address selects the view
  mainHeading().focus();
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && detail !== null && location.hash !== "") {
    location.hash = overview;
  }
});
document.addEventListener("visibilitychange", drawSoon);
openDetail();

/**
 * @param {import("../match.js").Message} message
 * @param {import("../slpstream.js").StationView} view
 */
function take(message, view) {
  let match = matches.get(view.station);
  if (match === undefined) {
    match = new Match(view);
    matches.set(view.station, match);
  }
  match.take(message);
  wall?.take(view.station, message);
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
  const wait = (wall?.shown ? DRAW_WALL_MS : DRAW_MS) - (performance.now() - drawnAt);
  setTimeout(() => requestAnimationFrame(draw), Math.max(0, wait));
}

function draw() {
  drawing = false;
  drawnAt = performance.now();
  const { stations, health } = daemon;
  document.body.classList.toggle("stale", health.state === "unreachable" || feed.connection !== "open");
  find("p.loading").hidden = stations.length > 0 || health.state !== "connecting";
  find(".empty").hidden = stations.length > 0 || health.state !== "ready";
  followDemo();
  daemon.onAir = feed.onAir;
  openDetail();
  login.draw();
  if (wall?.shown) {
    showWall(true); // at the rate for this number of stations
    wall.draw(stations.map(wallStation));
  } else {
    fill(list, stations, () => clone("station-card"), drawCard);
    drawGames();
  }
  setText(find(".count"), countText(stations));
  drawHealth();
  drawFirstRun();
  detail?.draw(daemon);
  editor?.draw(stations);
  if (health.responseMs !== null && (detail === null || detail instanceof Remote || !detail.isLoading)) {
    requestAnimationFrame(() => setTimeout(hasDrawn));
  }
  if (!askedForBracket && health.state !== "connecting") {
    askedForBracket = true;
    setUpBracketLink(find(".to-bracket"), daemon);
  }
  if (!askedForLinks && daemon.games !== null) {
    askedForLinks = true;
    showLinks();
  }
}

/** Shows the link to the codes for seats if players can claim seats here, and hides the links that a gateway lacks. */
async function showLinks() {
  try {
    const { status } = await daemon.api.get("v1/search");
    daemon.isGateway = status === Status.NOT_FOUND;
    find(".to-audit").hidden = find(".to-trends").hidden = daemon.isGateway;
    const seats = await daemon.api.get("v1/seats");
    find(".to-seat-codes").hidden = seats.body.on !== true;
    linkPages(find(".pages"), daemon);
    detail?.draw(daemon);
  } catch {
    askedForLinks = false; // the daemon is unreachable: retry after its next answer
  }
}

/** Shows the first-run page until there is something else to see. A link leads back to it. */
function drawFirstRun() {
  const section = find(".first-run");
  section.hidden = !showsFirstRun();
  if (section.hidden) {
    firstRun.close();
  } else {
    firstRun.draw(daemon);
  }
}

function showsFirstRun() {
  return location.hash === FIRST_RUN || (location.hash === "" && isFirstRun());
}

/** Whether no game is known yet, neither a played one nor one on the disk. */
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

/** @param {string} hash */
function isWall(hash) {
  return hash === WALL || hash.startsWith(`${WALL}?`);
}

/** @param {string} hash */
function isEditor(hash) {
  return hash === EDITOR || hash.startsWith(`${EDITOR}/`);
}

/** @param {Station[]} stations */
function countText(stations) {
  const playing = stations.filter((station) => stateOf(station) === "playing").length;
  return stations.length ? text("stations.playing", { playing, count: stations.length }) : "";
}

/** @param {Station} station */
function stateOf(station) {
  const view = feed.station(station.id);
  const { state, starting } = feed.connection === "open" && view.state !== "unknown" ? view : station;
  return starting ? "starting" : state;
}

/**
 * A station as the wall shows it.
 * @param {Station} station
 */
function wallStation(station) {
  const { id, name } = station;
  const view = feed.station(id);
  const state = stateOf(station);
  const game = view.catchingUp ? null : gameOn(station, state);
  const set = setOf(game, view.set);
  const players = playersOf(game, set);
  const running = game !== null && game.end === null;
  const attention = attentionOf(station, state, daemon.lagSeconds.get(id));
  const round = String(/** @type {Record<string, any> | null} */ (set)?.round ?? "");
  const played = (set?.sides ?? []).reduce((sum, side) => sum + (side.score ?? 0), 0);
  const last = daemon.lastGame(id);
  const named = (view.set?.players ?? []).map((player) => player.name ?? "");
  return {
    id,
    name,
    state,
    stateText: stateText(state),
    isOnAir: daemon.onAir?.station === id,
    attention,
    round,
    note: wallNote(station, game, state),
    result: game === null ? "" : resultOf(game, set),
    game,
    set,
    newestSet: view.set,
    idleSince: last !== null && last.gameId === game?.gameId ? endOf(last) : "",
    lastStocks: running ? players.filter(({ stocks, startStocks }) => stocks === 1 && startStocks > 1).length : 0,
    gameNumber: running && set !== null ? played + 1 : 0,
    words: [name, id, round, game === null ? "" : placeName(game), ...named, ...players.flatMap((each) => [each.name, each.character])].join(" "),
  };
}

/**
 * The reason why a station needs attention.
 * @param {Station} station
 * @param {import("../slpstream.js").Game | null} game
 * @param {string} state
 */
function wallNote(station, game, state) {
  const lag = daemon.lag(station.id);
  const isLate = attentionOf({}, state, daemon.lagSeconds.get(station.id)) > 0 && state === "playing" && lag !== "";
  return [isLate ? text("stations.lag", { lag }) : "", remarkOf(station), noteOf(station, game, state)]
    .filter(Boolean)
    .join(" · ");
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
  setText(find(".state", card), stateText(state));
  find(".state", card).dataset.state = state;
  find(".on-air", card).hidden = daemon.onAir?.station !== station.id;
  if (view.catchingUp) {
    return;
  }
  const game = gameOn(station, state);
  card.dataset.game = game?.gameId ?? "";
  card.dataset.ended = String(game !== null && game.end !== null);
  setText(find(".stage", card), game === null ? "" : placeName(game));
  setText(find(".clock", card), game === null ? "" : clockText(game));
  setText(find(".lag", card), lagText(station, state));
  const set = setOf(game, view.set);
  showPlayers(find(".players", card), playersOf(game, set), winnersOf(game, set), set);
  const result = game === null ? "" : resultOf(game, set);
  setText(find(".note", card), [result, noteOf(station, game, state)].filter(Boolean).join(" · "));
}

/**
 * @param {Station} station
 * @param {import("../slpstream.js").Game | null} game
 * @param {string} state
 */
function noteOf(station, game, state) {
  const isShown = !["playing", "idle", "starting"].includes(state) || isAbandoned(station, state);
  const reason = isShown ? reasonText(station.reason) : "";
  const noGame = game === null && state === "idle" ? text("stations.no_game") : "";
  return [reason, noGame, station.degraded].filter(Boolean).join(" · ");
}

/**
 * The game of a station, or the last one if the page was opened after it.
 * @param {Station} station
 * @param {string} state
 */
function gameOn({ id }, state) {
  const { game } = feed.station(id);
  const last = daemon.lastGame(id);
  const isPlaying = state === "playing" || state === "stalled";
  return last !== null && (lacksEnd(game, last) || (game === null && !isPlaying)) ? gameAtEnd(last) : withNames(game, last);
}

/**
 * @param {Station} station
 * @param {string} state
 */
function lagText(station, state) {
  const lag = daemon.lag(station.id);
  return lag === "" || state !== "playing" ? "" : text("stations.lag", { lag });
}

function drawHealth() {
  const { health, stations } = daemon;
  const pill = find(".health");
  pill.dataset.health = health.state;
  const problem = health.state === "ready" && feed.connection === "waiting" ? feed.problem || text("stations.interrupted") : "";
  setText(find(".text", pill), problem || health.text);
  const missing = find(".missing");
  missing.hidden = health.missing.length === 0;
  fill(missing, health.missing, () => element("li"), setText);
  const subscribers = stations.reduce((sum, station) => sum + (station.subscribers ?? 0), 0);
  const figures = [
    [text("stations.version"), feed.version],
    [text("stations.response"), health.responseMs === null ? "" : `${number(Math.max(1, Math.round(health.responseMs)))} ms`],
    [text("stations.subscribers"), number(subscribers)],
    [text("stations.websockets"), health.websockets === null ? "" : number(health.websockets)],
    [text("stations.missed"), health.missed === null ? "" : number(health.missed)],
    [text("stations.memory"), health.memoryBytes === null ? "" : `${number(Math.round(health.memoryBytes / 2 ** 20))} MiB`],
    [text("stations.highest_lag"), daemon.highestLag],
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
  const recent = (daemon.games ?? []).filter((item) => item.reason);
  const games = search.games ?? recent;
  find(".recent").hidden = recent.length === 0 && !search.isActive;
  find(".no-games").hidden = search.games === null || games.length > 0;
  setText(find("#recent"), text(search.games === null ? "page.recent" : "search.found"));
  showGames(find(".games"), games, stationName);
}

/** @param {string} id */
function stationName(id) {
  return daemon.stations.find((station) => station.id === id)?.name ?? id ?? "";
}

/**
 * Announces a result to screen readers. Results are rare enough not to interrupt.
 * @param {import("../slpstream.js").StationView} view
 */
function announceResult(view) {
  const result = view.game === null ? "" : resultOf(view.game, setOf(view.game, view.set));
  if (result !== "") {
    setText(find(".news"), `${stationName(view.station)}: ${result}`);
  }
}

/**
 * @param {string} hash
 * @returns {Route}
 */
function routeOf(hash) {
  if (isEditor(hash)) {
    return { kind: "editor", id: "" };
  }
  if (wall !== null && (isWall(hash) || (hash === "" && daemon.stations.length > MAX_CARDS))) {
    return { kind: "wall", id: "" };
  }
  if (hash === REMOTE) {
    return { kind: "remote", id: "" };
  }
  const [, kind, id] = /^#(station|game|remote)\/(.+)$/.exec(hash) ?? [];
  if (kind === "station" || kind === "game" || kind === "remote") {
    return { kind, id: decodeURIComponent(id) };
  }
  // A single station is open by default.
  const [only] = daemon.stations;
  return only !== undefined && daemon.stations.length === 1 ? { kind: "station", id: only.id } : { kind: "", id: "" };
}

function openDetail() {
  const route = routeOf(location.hash);
  const key = `${route.kind}/${route.id}`;
  if (route.kind === "" || route.kind === "wall") {
    overview = location.hash;
  }
  if (key === openRoute) {
    return;
  }
  openRoute = key;
  detail?.close();
  detail = null;
  panel.replaceChildren();
  panel.hidden = !["station", "game", "remote"].includes(route.kind);
  showWall(route.kind === "wall");
  showEditor();
  document.body.dataset.route = route.kind;
  document.body.classList.toggle("single", location.hash === "" && route.kind === "station");
  if (route.kind === "station") {
    detail = new StationDetail(panel, route.id, { access, base: ROOT, overlay: overlayOf(route.id), onChange: drawSoon });
    setAttribute(find(".adjust", panel), "href", `${EDITOR}/${encodeURIComponent(route.id)}`);
  } else if (route.kind === "game") {
    detail = new GameDetail(panel, route.id, drawSoon);
  } else if (route.kind === "remote") {
    detail = new Remote(panel, route.id, (station) => feed.station(station).set, drawSoon);
  }
  panel.querySelector("a.back")?.setAttribute("href", overview || "#");
  const title = { editor: "editor.title", remote: "remote.title" }[/** @type {string} */ (route.kind)];
  const page = route.kind === "station" ? stationName(route.id) : title === undefined ? "" : text(title);
  document.title = page === "" ? "slpstream" : `${page} · slpstream`;
  detail?.draw(daemon); // without waiting, because its heading gets the focus
  drawSoon();
}

/** The wall, if its part exists. @returns {Promise<Wall | null>} */
async function loadWall() {
  const part = await partModule("wall/wall.js");
  return part === null ? null : part.openWall(find(".wall"), sceneOf, drawSoon);
}

/** @returns {Promise<import("./first_run.js").DemoOffer | null>} */
async function loadDemoOffer() {
  const part = await partModule("demo/demo_offer.js");
  return part === null ? null : new part.DemoOffer(find(".demo-step"), drawSoon);
}

/** Shows or hides the wall, whose miniatures need more of each game than the cards. @param {boolean} shown */
function showWall(shown) {
  if (wall === null) {
    return;
  }
  wall.shown = shown;
  const rate = shown ? wall.rateOf(daemon.stations.length) : RATE;
  if (rate !== subscribedRate) {
    subscribedRate = rate;
    feed.subscribe({ rate, fields: shown ? [...FIELDS, ...wall.fields] : [...FIELDS] });
  }
}

/**
 * Shows the visual editor at its fragment, and hides it at others. The part `editor` is loaded when it is first opened. If it
 * cannot be loaded, the overview is shown.
 */
async function showEditor() {
  const section = find(".editor");
  if (isEditor(location.hash) && editor === null) {
    try {
      const { openEditor } = await import(new URL("../editor/editor.js", import.meta.url).href);
      opening ??= openEditor(section, { base: ROOT, token });
      editor = await opening;
    } catch {
      location.hash = overview;
      return;
    }
  }
  const shown = isEditor(location.hash);
  section.hidden = !shown;
  if (shown) {
    editor?.open(location.hash, overview);
    editor?.draw(daemon.stations);
  } else {
    editor?.close();
  }
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
    const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll(".lists .open, .wall .open")]);
    const shown = links.find((link) => link.hash === openedFrom && link.offsetParent !== null);
    (shown ?? mainHeading()).focus();
    openedFrom = "";
  } else if (/** @type {HTMLElement} */ (document.activeElement).offsetParent === null && document.activeElement !== document.body) {
    mainHeading().focus(); // the focused element is hidden, like the link to the wall on the wall
  }
}

/** The heading of the current view. */
function mainHeading() {
  const headings = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("#wall-title, #stations, #detail-title, #first-run-title")]);
  return headings.find((each) => each.offsetParent !== null) ?? find("#stations");
}

/**
 * @param {string} scene
 * @param {string} station
 */
function sceneOf(scene, station) {
  return withToken(new URL(`scenes/${scene}/${encodeURIComponent(station)}`, ROOT));
}

/** @param {string} station */
function overlayOf(station) {
  return withToken(new URL(`overlay/${encodeURIComponent(station)}`, ROOT));
}

/** @param {URL} url */
function withToken(url) {
  if (token !== undefined) {
    url.searchParams.set("token", token);
  }
  return url.href;
}
