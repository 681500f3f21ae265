/**
 * The overlay of one station: `/overlay/{station}`. `overlay_options.js` describes the options in the URL.
 *
 * Messages pass through the playout buffer into the state. The page is drawn from the state at most once per animation
 * frame, and only where it has changed.
 */

import { CONTROLLER_FIELDS } from "./controller.js";
import { drawCard, setText } from "./overlay_card.js";
import { readOptions } from "./overlay_options.js";
import { OverlayState } from "./overlay_state.js";
import { Playout } from "./playout.js";
import { lengthText, wonText } from "./set_score.js";
import { FIELDS, FORMAT, clock, gamePlayers, loadNames, minutesText, playerOfSet, resultText, stageName } from "./slippi.js";
import { connect } from "./slpstream.js";
import { summaryOutcome, summaryPlayers, thingText } from "./summary.js";

/** @typedef {import("./slippi.js").Player} Player */

const station = decodeURIComponent(location.pathname.split("/").pop() ?? "");
const { options, problems } = readOptions(new URLSearchParams(location.search));
const shows = new Set(options.show);

/** @type {(selector: string, root?: ParentNode) => HTMLElement} */
const find = (selector, root = document) => /** @type {HTMLElement} */ (root.querySelector(selector));

const overlay = find(".overlay");
const match = find(".match");
const result = find(".result");
const bestOf = find(".best-of");
const status = find(".status");
const notes = find(".notes");
const list = find(".players");
const template = /** @type {HTMLTemplateElement} */ (find("#player"));

const state = new OverlayState(station, options.hold);
const playout = new Playout((message) => state.take(message, performance.now()), options.delay);
let scheduled = false;
let changed = true;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let drawTimer;

document.title = `${station} · slpstream overlay`;
applyOptions();
loadNames(drawSoon);
const client = connect({
  stations: [station],
  topics: shows.has("combo") || shows.has("stocks") ? ["game", "frame", "event"] : ["game", "frame"],
  fields: [...FIELDS, ...(shows.has("controller") ? CONTROLLER_FIELDS : [])],
  protocol: options.delta ? "delta" : "json",
  token: options.token,
});
client.on("message", (message) => {
  if (message.type !== "hello" && message.type !== "error") {
    push(message);
  }
});
client.on("reset", () => push({ type: "reset" }));
client.on("connection", (connection) => push({ type: "connection", connection, problem: client.problem }));

/** @param {Record<string, any>} message */
function push(message) {
  playout.push(message, performance.now());
  if (document.hidden) {
    step(performance.now()); // browsers run no animation frames for hidden pages
  } else {
    loop();
  }
}

function drawSoon() {
  changed = true;
  loop();
}

/** Schedules an animation frame. They continue while messages are waiting. */
function loop() {
  if (!scheduled) {
    scheduled = true;
    requestAnimationFrame(onAnimationFrame);
  }
}

function onAnimationFrame() {
  scheduled = false;
  step(performance.now());
  if (playout.busy) {
    loop();
  }
}

/** @param {number} now */
function step(now) {
  if (playout.advance(now) || changed) {
    changed = false;
    draw(now);
  }
}

/** @param {number} now */
function draw(now) {
  const { view } = state;
  overlay.classList.toggle("stale", state.connection !== "open");
  setStatus(statusText());
  if (view.catchingUp) {
    return;
  }
  const melee = view.game?.format === FORMAT;
  const game = melee || view.game?.summary?.players !== undefined ? view.game : null;
  const { announced } = state;
  const phase = game !== null ? state.phase(now) : announced !== null ? "between" : "waiting";
  overlay.dataset.phase = phase;
  match.hidden = game === null || phase === "between" || !(shows.has("stage") || shows.has("timer"));
  result.hidden = phase !== "result";
  setText(bestOf, wonText(view.set) || lengthText(view.set));
  bestOf.hidden = phase === "waiting" || bestOf.textContent === "" || !shows.has("score");
  if (game !== null) {
    setText(find(".stage", match), melee ? stageName(game) : thingText(game.summary?.place));
    setText(find(".clock", match), game.summary?.suddenDeath ? "Sudden death" : melee ? clock(game) : "");
    setText(find(".outcome", result), melee ? resultText(game, view.set) : summaryOutcome(game, view.set) || "Game over");
    setText(find(".length", result), game.end?.durationSeconds == null ? "" : minutesText(game.end.durationSeconds));
  }
  const shown = selectPlayers(playersOf(game, announced));
  list.dataset.game = game?.gameId ?? "";
  list.dataset.frame = String(game?.frame ?? "");
  list.dataset.count = String(shown.length);
  while (list.children.length > shown.length) {
    list.lastElementChild?.remove();
  }
  while (list.children.length < shown.length) {
    list.append(template.content.cloneNode(true));
  }
  const winners = melee
    ? (game?.end?.winners ?? []).map(({ playerIndex }) => playerIndex)
    : (game?.summary?.winners ?? []);
  shown.forEach((player, i) => {
    const card = /** @type {HTMLElement} */ (list.children[i]);
    const playing = phase === "playing";
    drawCard(card, player, {
      side: i < shown.length / 2 && options.players !== "right" ? "left" : "right",
      combo: shows.has("combo") && playing ? state.combo(player.index) : null,
      score: state.score(player),
      held: shows.has("controller") ? game?.players.get(player.index)?.pre : undefined,
      won: phase === "result" && winners.includes(player.index),
    });
  });
  drawAt(state.phaseEndsAt(now));
}

/**
 * The players of the game, or those of the announced set if there is no game.
 * @param {import("./slpstream.js").Game | null} game
 * @param {import("./slpstream_types.js").SetScore | null} announced
 * @returns {Player[]}
 */
function playersOf(game, announced) {
  if (game === null) {
    return (announced?.players ?? []).map(playerOfSet);
  }
  return game.format === FORMAT ? gamePlayers(game, state.view.set) : summaryPlayers(game, state.view.set);
}

/**
 * The players that the options select.
 * @param {Player[]} all
 */
function selectPlayers(all) {
  const { players: selection } = options;
  const half = Math.ceil(all.length / 2);
  if (selection === "left" || selection === "right") {
    // In a team game a side is a team, otherwise the first or second half of the ports.
    const [first] = all;
    const isLeft = (/** @type {Player} */ player, /** @type {number} */ i) =>
      first.team === "" ? i < half : player.team === first.team;
    return all.filter((player, i) => isLeft(player, i) === (selection === "left"));
  }
  return selection === "all" ? all : all.filter((player) => selection.includes(player.port));
}

/** The status line; empty while a game is shown without problems. */
function statusText() {
  const { view } = state;
  if (state.problem) {
    return state.problem;
  }
  if (state.connection !== "open") {
    return view.game === null ? "connecting" : "reconnecting";
  }
  if (view.game !== null) {
    const shown = view.game.format === FORMAT || view.game.summary?.players !== undefined;
    return shown ? "" : `no overlay for this game yet (${view.game.format})`;
  }
  return view.state === "offline" && !view.starting ? "station offline" : "waiting for a game";
}

/** @param {string} text */
function setStatus(text) {
  setText(status, text);
  status.hidden = text === "";
}

/** @param {number | null} at */
function drawAt(at) {
  clearTimeout(drawTimer);
  drawTimer = at === null ? undefined : setTimeout(drawSoon, at - performance.now() + 1);
}

function applyOptions() {
  const root = document.documentElement;
  root.dataset.theme = options.theme;
  root.style.setProperty("--scale", String(options.scale));
  overlay.dataset.show = options.show.join(" ");
  if (options.css !== null) {
    addStylesheet(options.css);
  }
  problems.forEach(addNote);
}

/**
 * Adds the user's stylesheet after the built-in one, so that it takes precedence.
 * @param {string} path
 */
function addStylesheet(path) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = new URL(`../custom/${path}`, import.meta.url).href;
  link.onerror = () => addNote(`css=${path}: not found in the overlay folder`);
  document.head.append(link);
}

/** @param {string} text */
function addNote(text) {
  console.warn(`slpstream overlay: ${text}`);
  const item = document.createElement("li");
  item.textContent = text;
  notes.append(item);
  notes.hidden = false;
}
