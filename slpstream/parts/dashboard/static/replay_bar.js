/**
 * `<replay-bar>`: the playback controls below a stage. It displays a position and calls `actions`.
 *
 * The left and right arrow keys move by a second, and with Shift by a frame. They work everywhere on the page except in
 * fields and scrollable elements.
 */

import { element, setAttribute, setText } from "../dom.js";
import { FIRST_FRAME } from "../recording.js";
import { gameTime } from "../slippi.js";
import { number, text } from "../texts/texts.js";

/**
 * @typedef {object} Actions
 * @property {(frames: number) => void} move   Moves by a number of frames.
 * @property {(frame: number) => void} seek
 * @property {() => void} playOrPause
 * @property {() => void} changeSpeed
 * @property {() => void} live
 *
 * @typedef {object} State
 * @property {number} first
 * @property {number} last
 * @property {number} at
 * @property {boolean} playing
 * @property {number} speed
 * @property {boolean | null} live    `null` for a finished game, which has no live view.
 * @property {boolean} waiting
 * @property {number} framesPerSecond
 */

const BACK_SECONDS = 10;
/** Elements that use the arrow keys themselves. */
const KEY_USERS = "input:not([type=range]), select, textarea, [contenteditable], .scroll, percent-plot";
const PLAY = "M4 2.5v11l9.5-5.5z";
const PAUSE = "M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z";
const BACK = "M8 2.5a5.5 5.5 0 1 1-5.3 4h1.7A3.9 3.9 0 1 0 8 4.1V6.5L4.2 3.3 8 0z";

export class ReplayBar extends HTMLElement {
  /** @type {Actions | null} */ actions = null;
  #back = button("back-ten", text("replay.back_label", { seconds: BACK_SECONDS }));
  #play = button("play", text("replay.play"));
  #speed = button("speed", text("replay.speed"));
  #slider = /** @type {HTMLInputElement} */ (element("input", "", { type: "range", step: "1", "aria-label": text("replay.position") }));
  #time = element("span", "", { class: "time" });
  #live = button("live", text("replay.live"));
  #icon = icon(PLAY);
  #framesPerSecond = 60;

  connectedCallback() {
    if (this.children.length === 0) {
      setAttribute(this, "role", "group");
      setAttribute(this, "aria-label", text("replay.title"));
      this.#back.append(icon(BACK), element("span", text("replay.back", { seconds: BACK_SECONDS })));
      this.#play.append(this.#icon);
      this.#live.append(element("span", "", { class: "dot", "aria-hidden": "true" }), element("span", text("replay.live_button")));
      this.append(this.#back, this.#play, this.#speed, this.#slider, this.#time, this.#live);
      this.#back.addEventListener("click", () => this.actions?.move(-BACK_SECONDS * this.#framesPerSecond));
      this.#play.addEventListener("click", () => this.actions?.playOrPause());
      this.#speed.addEventListener("click", () => this.actions?.changeSpeed());
      this.#live.addEventListener("click", () => this.actions?.live());
      this.#slider.addEventListener("input", () => this.actions?.seek(Number(this.#slider.value)));
    }
    document.addEventListener("keydown", this.#key);
  }

  disconnectedCallback() {
    document.removeEventListener("keydown", this.#key);
  }

  /** @param {State} state */
  show({ first, last, at, playing, speed, live, waiting, framesPerSecond }) {
    this.#framesPerSecond = framesPerSecond;
    this.dataset.live = String(live ?? "");
    this.dataset.waiting = String(waiting);
    setAttribute(this.#icon.firstElementChild, "d", playing ? PAUSE : PLAY);
    setAttribute(this.#play, "aria-label", text(playing ? "replay.pause" : "replay.play"));
    setText(this.#speed, `${number(speed)}×`);
    setAttribute(this.#speed, "aria-label", text("replay.speed_label", { speed }));
    this.#speed.dataset.slow = String(speed < 1);
    setAttribute(this.#slider, "min", String(first));
    setAttribute(this.#slider, "max", String(last));
    this.#slider.value = String(at);
    this.#slider.style.setProperty("--share", String(last > first ? (at - first) / (last - first) : 1));
    const [position, duration] = [at, last].map((frame) => gameTime(frame - first + FIRST_FRAME));
    setAttribute(this.#slider, "aria-valuetext", text("replay.position_of", { position, duration }));
    setText(this.#time, `${position} / ${duration}`);
    this.#live.hidden = live === null;
    setAttribute(this.#live, "aria-pressed", String(live === true));
    setAttribute(this.#live, "aria-label", text(live ? "replay.live" : "replay.back_to_live"));
  }

  #key = (/** @type {KeyboardEvent} */ event) => {
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const target = event.target instanceof Element ? event.target : null;
    if (direction === undefined || event.altKey || event.ctrlKey || event.metaKey || this.offsetParent === null) {
      return;
    }
    if (target?.closest(KEY_USERS) == null) {
      event.preventDefault();
      this.actions?.move(direction * (event.shiftKey ? 1 : this.#framesPerSecond));
    }
  };
}

/**
 * @param {string} name
 * @param {string} label
 */
function button(name, label) {
  return element("button", "", { type: "button", class: name, "aria-label": label });
}

/** @param {string} path  SVG path in a square of 16 by 16. */
function icon(path) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
  shape.setAttribute("d", path);
  svg.append(shape);
  return /** @type {any} */ (svg);
}

customElements.define("replay-bar", ReplayBar);
