/**
 * The common parts of all scenes: options, theme, stylesheet, connection, delay, and drawing.
 *
 *     openScene({ stations: [station], topics: ["game"], take: (message, now) => …, draw: (now) => … });
 *
 * Messages pass through the playout buffer. The page is drawn at most once per animation frame, and only after a change.
 *
 * If the address ends in `#example`, the made-up set of `example.js` replaces the daemon's messages and answers.
 */

import { ROOT } from "../api.js";
import { element, find } from "../dom.js";
import { followGameArea } from "../game_area.js";
import { arrived, onArrival } from "../late.js";
import { Playout } from "../playout.js";
import { ASPECTS, readOptions } from "../scene_options.js";
import { loadNames } from "../slippi.js";
import { CloseCode, ON_AIR, connect } from "../slpstream.js";
import { addTexts, fillTexts, language, text } from "../texts/texts.js";

await addTexts(import.meta.url);

/**
 * @typedef {import("../scene_options.js").SceneOptions} SceneOptions
 *
 * @typedef {object} Scene
 * @property {string[] | "*"} stations
 * @property {import("../slpstream_types.js").Topic[]} topics
 * @property {string[]} [also]     Types of messages that parts send.
 * @property {string[]} [fields]   Fields of a frame. Default: whole frames.
 * @property {(message: Record<string, any>, now: number) => void} take  Receives each message when it is due, and the
 *     page's own: `connection` and `reset`. Pages of the station on air also receive `on_air`, when that station changes.
 * @property {(now: number) => number | null} draw  Draws, and returns when to draw again without a message.
 */

/** The station in the address: `/scenes/{scene}/{station}`, or `/overlay/{station}`. */
export const station = decodeURIComponent(location.pathname.split("/").pop() ?? "");
const followsOnAir = station === ON_AIR;
let current = station;

/** The station that is shown. For `on-air`, it is the station on air as soon as that is known, and it can change. */
export function currentStation() {
  return current;
}

/** Whether the scene shows a made-up set. */
export const isExample = location.hash === "#example";

/**
 * Reads the options and applies those that concern the page as a whole. Adds the list of problems to the page.
 * @param {{layout?: import("../scene_options.js").Layout}} [defaults]
 * @returns {SceneOptions}
 */
export function preparePage(defaults = {}) {
  const { options, problems } = readOptions(new URLSearchParams(location.search), defaults);
  const root = document.documentElement;
  root.lang = language;
  root.dataset.theme = options.theme;
  root.dataset.motion = options.motion ? "1" : "0";
  root.style.setProperty("--scale", String(options.scale));
  for (const [name, factor] of Object.entries(options.sizes)) {
    root.style.setProperty(`--size-${name}`, String(factor));
  }
  fillTexts();
  if (options.css !== null) {
    addStylesheet(options.css);
  }
  problems.forEach(addNote);
  return options;
}

/**
 * Connects, and draws after changes.
 * @param {SceneOptions} options
 * @param {Scene} scene
 * @returns {() => void} Draws soon.
 */
export function openScene(options, { stations, topics, also = [], fields, take, draw }) {
  // People who adjust a scene should not wait for the made-up set.
  const playout = new Playout((message) => {
    if (message.type !== "on_air") {
      take(message, performance.now());
    } else if (followsOnAir) {
      current = message.station ?? ON_AIR;
      take(message, performance.now());
    }
  }, isExample ? 0 : options.delay);
  let scheduled = false;
  let changed = true;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let drawTimer;

  const drawSoon = () => {
    changed = true;
    loop();
  };
  /** Schedules an animation frame. They continue while messages are waiting. */
  const loop = () => {
    if (!scheduled) {
      scheduled = true;
      requestAnimationFrame(() => {
        scheduled = false;
        step(performance.now());
        if (playout.busy) {
          loop();
        }
      });
    }
  };
  const step = (/** @type {number} */ now) => {
    if (playout.advance(now) || changed) {
      changed = false;
      const at = draw(now);
      clearTimeout(drawTimer);
      drawTimer = at === null ? undefined : setTimeout(drawSoon, Math.max(0, at - performance.now()) + 1);
    }
  };
  const push = (/** @type {Record<string, any>} */ message) => {
    playout.push(message, performance.now());
    if (document.hidden) {
      step(performance.now()); // browsers run no animation frames for hidden pages
    } else {
      loop();
    }
  };

  followGameArea(ASPECTS[options.aspect], drawSoon);
  onArrival(drawSoon);
  loadNames();
  drawSoon();
  if (isExample) {
    playInstead(push);
    return drawSoon;
  }
  const client = connect({
    stations,
    topics,
    ...(also.length === 0 ? {} : { also }),
    ...(fields === undefined ? {} : { fields }),
    protocol: options.delta ? "delta" : "json",
    token: options.token,
  });
  client.on("message", (message) => {
    if (message.type !== "hello" && message.type !== "error") {
      push(message);
    }
  });
  client.on("reset", (name) => push({ type: "reset", station: name }));
  client.on("connection", (connection) => {
    push({ type: "connection", connection, problem: refusalWords(client, options.token) });
  });
  return drawSoon;
}

/** @param {(message: Record<string, any>) => void} push */
async function playInstead(push) {
  const { playExample } = await import("./example.js");
  const [, scene] = /\/(?:scenes\/)?([^/]+)(?:\/[^/]*)?$/.exec(location.pathname) ?? [];
  playExample(scene ?? "", station, push);
}

/**
 * The reason why the daemon refuses the connection, in the page's language; empty if it does not. Rare reasons are in the
 * daemon's words.
 * @param {import("../slpstream.js").Client} client
 * @param {string | undefined} token
 */
function refusalWords({ problem, problemCode }, token) {
  switch (problemCode) {
    case CloseCode.NOT_AUTHORISED:
      return text(token === undefined ? "problem.no_token" : "problem.wrong_token");
    case CloseCode.NOT_FOUND:
      return text("problem.unknown_station", { station: current });
    default:
      return problem;
  }
}

/**
 * The status of a station in words; empty while something is shown without problems.
 * @param {import("./state.js").SceneState} state
 * @param {boolean} isShown  Whether the scene shows players.
 */
export function statusWords(state, isShown) {
  const { view } = state;
  if (state.problem) {
    return state.problem;
  }
  if (state.connection !== "open") {
    return text(isShown ? "scene.reconnecting" : "scene.connecting");
  }
  if (state.nothingOnAir) {
    return text("scene.nothing_on_air");
  }
  if (isShown) {
    return "";
  }
  if (view.game !== null && view.game.end === null) {
    return text("scene.unknown_format", { format: view.game.format });
  }
  return text(view.state === "offline" && !view.starting ? "scene.offline" : "scene.waiting");
}

/**
 * Adds the user's stylesheet after the built-in one, so that it takes precedence.
 * @param {string} path
 */
function addStylesheet(path) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = new URL(`custom/${path}`, ROOT).href;
  link.onload = arrived; // colours of text are computed from it
  link.onerror = () => addNote(text("scene.css_not_found", { path }));
  document.head.append(link);
}

/** @param {string} note */
function addNote(note) {
  console.warn(`slpstream overlay: ${note}`);
  const notes = find(".notes");
  notes.append(element("li", note));
  notes.hidden = false;
}
