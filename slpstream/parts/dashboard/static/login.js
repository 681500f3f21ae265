/**
 * The form for the token. It is shown when the daemon refuses to list its stations, and at the fragment `#login`, where
 * operators open it. The page is loaded again with the new token, and after logging out.
 */

import { Api, Status } from "../api.js";
import { find, setText } from "../dom.js";
import { text } from "../texts/texts.js";
import { forgetToken, keepToken } from "../token.js";

/** @typedef {import("./daemon.js").Daemon} Daemon */

export const LOGIN = "#login";
/** Headers allow no other characters, so tokens have none. */
const TOKEN = /^[!-~]+$/;

export class Login {
  #root;
  #daemon;
  #problem = "";
  #drawn = "";
  /** The fragment from which the form was opened, and to which it leads back. */
  #from = "";

  /**
   * @param {HTMLElement} root
   * @param {Daemon} daemon
   */
  constructor(root, daemon) {
    this.#root = root;
    this.#daemon = daemon;
    find("form", root).addEventListener("submit", (event) => {
      event.preventDefault();
      this.#logIn();
    });
    find(".cancel", root).addEventListener("click", () => (location.hash = this.#from));
    addEventListener("hashchange", ({ oldURL }) => {
      this.#from = location.hash === LOGIN ? new URL(oldURL).hash : "";
    });
    const [logIn, logOut] = [find("a.log-in"), find("button.log-out")];
    logIn.hidden = daemon.api.token !== undefined;
    logOut.hidden = daemon.api.token === undefined;
    logOut.addEventListener("click", () => {
      forgetToken();
      location.hash = "";
      location.reload();
    });
  }

  /** Shows the form if it is needed or was requested. Returns whether it is shown. */
  draw() {
    const { refusal } = this.#daemon.health;
    const shown = refusal !== "" || location.hash === LOGIN;
    this.#root.hidden = !shown;
    const state = `${shown} ${refusal}`;
    if (state !== this.#drawn) {
      this.#drawn = state;
      this.#problem = refusal === "wrong" ? text("login.wrong") : "";
      find(".cancel", this.#root).hidden = refusal !== "";
      if (shown) {
        this.#token.focus();
      }
    }
    setText(find(".why", this.#root), text(refusal === "" ? "login.operators" : "login.required"));
    const problem = find(".problem", this.#root);
    problem.hidden = this.#problem === "";
    setText(problem, this.#problem);
    return shown;
  }

  get #token() {
    return /** @type {HTMLInputElement} */ (find("input[type=password]", this.#root));
  }

  async #logIn() {
    const token = this.#token.value.trim();
    if (token === "") {
      this.#token.focus();
      return;
    }
    const submit = /** @type {HTMLButtonElement} */ (find("button[type=submit]", this.#root));
    submit.disabled = true;
    try {
      // The setup is for operators. If reading needs no token, only the setup shows whether a token is wrong.
      const wrong = !TOKEN.test(token) || (await refuses("v1/setup", token)) || (await refuses("v1/stations", token));
      this.#problem = wrong ? text("login.wrong") : "";
    } catch {
      this.#problem = text("daemon.unreachable");
    }
    submit.disabled = false;
    if (this.#problem !== "") {
      this.draw();
      this.#token.select();
    } else if (keepToken(token, /** @type {HTMLInputElement} */ (find("input[type=checkbox]", this.#root)).checked)) {
      if (location.hash === LOGIN) {
        history.replaceState(null, "", location.pathname + location.search + this.#from);
      }
      location.reload();
    } else {
      this.#problem = text("login.blocked");
      this.draw();
    }
  }
}

/**
 * @param {string} path
 * @param {string} token
 */
async function refuses(path, token) {
  return (await new Api(token).get(path)).status === Status.UNAUTHORISED;
}
