/** The button in the details of a station that puts it on air, keeps it there, or returns control to the rule. */

import { Status, isRefusal } from "../api.js";
import { setText } from "../dom.js";
import { addTexts, text } from "../texts/texts.js";

await addTexts(import.meta.url);

/** @typedef {{api: import("../api.js").Api, onAir: Record<string, any> | null}} Daemon  The daemon of the dashboard. */

const PATH = "v1/on-air";
const RETRY_MS = 3000;

export class OnAirButton {
  #button;
  #problem;
  #station;
  #onChange;
  /** @type {Daemon | null} */ #daemon = null;
  /** The body of `/v1/on-air`; `null` until it arrives, and on a gateway. @type {Record<string, any> | null} */ #known = null;
  #exists = true;
  #askedAt = -Infinity;

  /**
   * @param {HTMLButtonElement} button
   * @param {HTMLElement} problem  Shows why a change was refused.
   * @param {string} station
   * @param {() => void} onChange
   */
  constructor(button, problem, station, onChange) {
    this.#button = button;
    this.#problem = problem;
    this.#station = station;
    this.#onChange = onChange;
    button.addEventListener("click", () => this.#press());
  }

  /** @param {Daemon} daemon */
  draw(daemon) {
    this.#daemon = daemon;
    this.#load(daemon);
    const known = this.#known;
    this.#button.hidden = known === null;
    if (known !== null) {
      const { station = known.station, by = known.by } = daemon.onAir ?? {};
      Object.assign(known, { station, by });
      setText(this.#button, text(this.#isChosen ? (known.rule ? "on_air.hand_back" : "on_air.take_off") : this.#isShown ? "on_air.keep" : "on_air.put"));
    }
  }

  get #isShown() {
    return this.#known?.station === this.#station;
  }

  get #isChosen() {
    return this.#isShown && this.#known?.by === "operator";
  }

  #press() {
    this.#request((api) => api.put(PATH, { station: this.#isChosen ? null : this.#station }));
  }

  /** Asks once whether there is a rule; the stream reports everything else. @param {Daemon} daemon */
  #load(daemon) {
    if (this.#known === null && this.#exists && performance.now() - this.#askedAt > RETRY_MS) {
      this.#askedAt = performance.now();
      this.#request((api) => api.get(PATH));
    }
  }

  /** @param {(api: import("../api.js").Api) => Promise<import("../api.js").Answer>} send */
  async #request(send) {
    if (this.#daemon === null) {
      return;
    }
    let problem = "";
    try {
      const { status, body } = await send(this.#daemon.api);
      if (status === Status.OK) {
        this.#known = body;
      } else if (this.#known === null) {
        this.#exists = status !== Status.NOT_FOUND;
      } else {
        problem = isRefusal(status) ? text("panel.not_operator") : body.detail;
      }
    } catch {
      problem = this.#known === null ? "" : text("panel.not_responding");
    }
    setText(this.#problem, problem);
    this.#problem.hidden = problem === "";
    this.#onChange();
  }
}
