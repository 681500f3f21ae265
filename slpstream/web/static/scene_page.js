/**
 * A scene, a page for OBS: options, theme, stylesheet, connection, delay, and drawing.
 *
 *     openScene(preparePage(), { stations: [station], topics: ["game"], take: (message, now) => …, draw: (now) => … });
 *
 * Messages pass through the playout buffer. The page is drawn at most once per animation frame, and only after a change.
 *
 * If the address ends in `#example`, made-up messages replace the daemon's.
 */

import { ROOT } from "./api.js";
import { element, find } from "./dom.js";
import { followGameArea } from "./game_area.js";
import { arrived, onArrival } from "./late.js";
import { Playout } from "./playout.js";
import { ASPECTS, readOptions } from "./scene_options.js";
import { loadNames } from "./slippi.js";
import { CloseCode, connect } from "./slpstream.js";
import { fillTexts, language, text } from "./texts/texts.js";

/**
 * @typedef {import("./scene_options.js").SceneOptions} SceneOptions
 * @typedef {(message: Record<string, any>) => void} Push
 *
 * @typedef {object} Scene
 * @property {string[] | "*"} stations
 * @property {import("./slpstream_types.js").Topic[]} topics
 * @property {string[]} [also]     Types of messages that parts send.
 * @property {string[]} [fields]   Fields of a frame. Default: whole frames.
 * @property {(message: Record<string, any>, now: number) => void} take  Receives each message when it is due, and the
 *     page's own: `connection` and `reset`.
 * @property {(now: number) => number | null} draw  Draws, and returns when to draw again without a message.
 * @property {(push: Push) => void} playExample  Sends the messages of the example.
 * @property {() => string} [shownStation]       The station that a refusal is about. Default: the daemon's words.
 * @property {boolean} [hasFramesOfSeveral]      Whether the frames are those of several stations, each with its own pace.
 */

/** Whether the scene shows made-up messages. */
export const isExample = location.hash === "#example";

/**
 * Reads the options and applies those that concern the page as a whole. Adds the list of problems to the page.
 * @param {{layout?: import("./scene_options.js").Layout}} [defaults]
 * @param {URLSearchParams} [query]
 * @returns {SceneOptions}
 */
export function preparePage(defaults = {}, query = new URLSearchParams(location.search)) {
  const { options, problems } = readOptions(query, defaults);
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
export function openScene(options, scene) {
  const { stations, topics, also = [], fields, take, draw, playExample, shownStation, hasFramesOfSeveral = false } = scene;
  /** By station, or one for all messages. @type {Map<string, Playout>} */
  const playouts = new Map();
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
        if ([...playouts.values()].some(({ busy }) => busy)) {
          loop();
        }
      });
    }
  };
  const step = (/** @type {number} */ now) => {
    for (const playout of playouts.values()) {
      changed = playout.advance(now) || changed;
    }
    if (changed) {
      changed = false;
      const at = draw(now);
      clearTimeout(drawTimer);
      drawTimer = at === null ? undefined : setTimeout(drawSoon, Math.max(0, at - performance.now()) + 1);
    }
  };
  const push = (/** @type {Record<string, any>} */ message) => {
    const name = hasFramesOfSeveral ? (message.station ?? "") : "";
    let playout = playouts.get(name);
    if (playout === undefined) {
      // People who adjust a scene should not wait for the example.
      playout = new Playout((due) => take(due, performance.now()), isExample ? 0 : options.delay);
      playouts.set(name, playout);
    }
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
    playExample(push);
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
    push({ type: "connection", connection, problem: refusalWords(client, options.token, shownStation) });
  });
  return drawSoon;
}

/**
 * The reason why the daemon refuses the connection, in the page's language; empty if it does not. Rare reasons are in the
 * daemon's words.
 * @param {import("./slpstream.js").Client} client
 * @param {string | undefined} token
 * @param {(() => string) | undefined} shownStation
 */
function refusalWords({ problem, problemCode }, token, shownStation) {
  switch (problemCode) {
    case CloseCode.NOT_AUTHORISED:
      return text(token === undefined ? "problem.no_token" : "problem.wrong_token");
    case CloseCode.NOT_FOUND:
      return shownStation === undefined ? problem : text("problem.unknown_station", { station: shownStation() });
    default:
      return problem;
  }
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

/**
 * Adds a line to the list of problems with the options.
 * @param {string} note
 */
export function addNote(note) {
  console.warn(`slpstream overlay: ${note}`);
  const notes = find(".notes");
  notes.append(element("li", note));
  notes.hidden = false;
}
