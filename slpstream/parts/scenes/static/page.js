/**
 * The common parts of all scenes about one station, and of the ticker: the station, the example, and words for their status.
 *
 *     openScene(options, { stations: [station], topics: ["game"], take: (message, now) => …, draw: (now) => … });
 *
 * If the address ends in `#example`, the made-up set of `example.js` replaces the daemon's messages and answers.
 */

import { isExample, openScene as openPage, preparePage } from "../scene_page.js";
import { ON_AIR } from "../slpstream.js";
import { addTexts, text } from "../texts/texts.js";

await addTexts(import.meta.url);

export { isExample, preparePage };

/** The station in the address: `/scenes/{scene}/{station}`, or `/overlay/{station}`. */
export const station = decodeURIComponent(location.pathname.split("/").pop() ?? "");
const followsOnAir = station === ON_AIR;
let current = station;

/** The station that is shown. For `on-air`, it is the station on air as soon as that is known, and it can change. */
export function currentStation() {
  return current;
}

/**
 * Connects, and draws after changes. Pages of the station on air also receive `on_air`, when that station changes.
 * @param {import("../scene_options.js").SceneOptions} options
 * @param {Omit<import("../scene_page.js").Scene, "playExample" | "shownStation">} scene
 * @returns {() => void} Draws soon.
 */
export function openScene(options, { take, ...scene }) {
  return openPage(options, {
    ...scene,
    take: (message, now) => {
      if (message.type === "on_air") {
        if (!followsOnAir) {
          return;
        }
        current = message.station ?? ON_AIR;
      }
      take(message, now);
    },
    playExample: playInstead,
    shownStation: currentStation,
  });
}

/** @param {import("../scene_page.js").Push} push */
async function playInstead(push) {
  const { playExample } = await import("./example.js");
  const [, scene] = /\/(?:scenes\/)?([^/]+)(?:\/[^/]*)?$/.exec(location.pathname) ?? [];
  playExample(scene ?? "", station, push);
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
