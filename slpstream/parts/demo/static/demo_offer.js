/** The last step of the first-run page, which offers a demo. */

import { Status } from "../api.js";
import { element, make, setText } from "../dom.js";
import { addTexts, text } from "../texts/texts.js";

await addTexts(import.meta.url);

/** @typedef {{api: import("../api.js").Api}} Daemon  The daemon of the dashboard. */

export class DemoOffer {
  #onChange;
  #button = /** @type {HTMLButtonElement} */ (element("button", text("demo.play"), { class: "demo", type: "button" }));
  #command = make("p.demo-command", element("span", text("demo.command")), " ", element("code", "slpstream demo --port 0"));
  #problem = element("p", "", { class: "problem", role: "alert" });
  /** @type {Daemon | null} */ #daemon = null;
  #waiting = false;
  #refusal = "";

  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    this.#onChange = onChange;
    const about = element("p", text("demo.about"));
    root.append(element("h3", text("demo.title")), about, make("p", this.#button), this.#command, this.#problem);
    root.hidden = false;
    this.#button.addEventListener("click", () => this.#start());
  }

  /**
   * @param {Daemon} daemon
   * @param {boolean} canStart  Whether this reader can start a demo. Others see a command instead of the button.
   */
  draw(daemon, canStart) {
    this.#daemon = daemon;
    this.#button.hidden = !canStart;
    this.#button.disabled = this.#waiting;
    this.#command.hidden = canStart;
    this.#problem.hidden = this.#refusal === "";
    setText(this.#problem, this.#refusal);
  }

  async #start() {
    this.#waiting = true;
    this.#refusal = "";
    this.#onChange();
    try {
      const { status, body } = (await this.#daemon?.api.patch("v1/setup", { demo: true })) ?? { status: 0, body: {} };
      if (status === Status.OK && body.demo) {
        location.hash = `#station/${encodeURIComponent(body.demo)}`;
      } else {
        this.#refusal = text("demo.refused", { reason: body.detail ?? text("demo.no_response") });
      }
    } catch {
      this.#refusal = text("demo.refused", { reason: text("demo.no_response") });
    }
    this.#waiting = false;
    this.#onChange();
  }
}
