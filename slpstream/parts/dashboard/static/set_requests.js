/**
 * The set of a station, and the operators' changes of it. Each change is sent immediately, after those that were made before it, and
 * the daemon's response is the newest set.
 */

import { Status, isRefusal } from "../api.js";
import { text } from "../texts/texts.js";

/**
 * @typedef {import("./daemon.js").Daemon} Daemon
 * @typedef {import("../slpstream_types.js").SetScore} SetScore
 * @typedef {import("../slpstream_types.js").SetSide} SetSide
 * @typedef {import("../api.js").Api} Api
 * @typedef {import("../api.js").Answer} Answer
 */

const RETRY_MS = 3000;
const OPERATOR = "slpstream.operator";

export class SetRequests {
  /** The path of the set, relative to the daemon's address. @type {string} */ path;
  /** The operator's name in the list of changes. */
  by = rememberedOperator();
  /** From the stream, or from the last response; `null` until it has arrived. @type {SetScore | null} */ set = null;
  /** Why the last request failed, in words; empty if it did not. */
  problem = "";
  /** Whether the daemon refused the last request because the token is not an operator's. */
  isRefused = false;
  /** Whether the last request had no response. */
  isCutOff = false;
  /** The number of requests that have no response yet. */
  pending = 0;
  #onChange;
  #onChanged;
  /** @type {Api | null} */ #api = null;
  #loadedAt = -Infinity;
  /** @type {Promise<void>} */ #queue = Promise.resolve();
  /** Scores that were sent but have no response yet, by player index. @type {Map<string, number>} */ #sentScores = new Map();

  /**
   * @param {string} station
   * @param {() => void} onChange
   * @param {(before: number, after: number) => void} [onChanged]  Called with the ids of the last changes before and after a request.
   */
  constructor(station, onChange, onChanged = () => {}) {
    this.path = `v1/stations/${encodeURIComponent(station)}/set`;
    this.#onChange = onChange;
    this.#onChanged = onChanged;
  }

  /**
   * Takes the newest set of the stream, which has none before the first game: then the set is requested.
   * @param {Daemon} daemon
   * @param {SetScore | null} set
   */
  draw({ api }, set) {
    this.#api = api;
    this.set = set ?? this.set;
    if (this.set === null && performance.now() - this.#loadedAt > RETRY_MS) {
      this.#loadedAt = performance.now();
      this.#request((each) => each.get(this.path), "");
    }
  }

  /** @param {string} name */
  rememberOperator(name) {
    this.by = name;
    rememberOperator(name);
  }

  /** The score of a side, with the changes that have no response yet. @param {SetSide} side */
  scoreOf({ players, score }) {
    return this.#sentScores.get(String(players[0])) ?? score;
  }

  /**
   * Adds to the score of a side.
   * @param {SetSide} side
   * @param {number} step
   */
  addScore(side, step) {
    const index = String(side.players[0]);
    const score = this.scoreOf(side) + step;
    if (score >= 0) {
      this.#sentScores.set(index, score);
      this.change({ score: { [index]: score } });
    }
  }

  /** @param {Record<string, any>} patch */
  change(patch) {
    return this.#send((api) => api.patch(`${this.path}${this.#query()}`, patch));
  }

  /** @param {number} id  Of the change to undo. */
  undo(id) {
    return this.#send((api) => api.post(`${this.path}/changes${this.#query()}`, { undo: id }), "panel.cannot_undo");
  }

  #query() {
    return this.by === "" ? "" : `?by=${encodeURIComponent(this.by)}`;
  }

  /**
   * @param {(api: Api) => Promise<Answer>} send
   * @param {string} [conflict]  The key of the text for a conflict; otherwise the daemon's sentence is shown.
   */
  #send(send, conflict = "") {
    this.pending += 1;
    this.#queue = this.#queue.then(async () => {
      await this.#request(send, conflict);
      this.pending -= 1;
      if (this.pending === 0) {
        this.#sentScores.clear();
      }
      this.#onChange();
    });
    return this.#queue;
  }

  /**
   * @param {(api: Api) => Promise<Answer>} send
   * @param {string} conflict
   */
  async #request(send, conflict) {
    if (this.#api === null) {
      return;
    }
    try {
      const before = this.set?.lastChange ?? 0;
      const { status, body } = await send(this.#api);
      this.isCutOff = false;
      this.isRefused = isRefusal(status);
      const told = status === Status.CONFLICT && conflict !== "" ? text(conflict) : body.detail;
      this.problem = status === Status.OK ? "" : this.isRefused ? text("panel.not_operator") : told;
      if (status === Status.OK) {
        this.set = /** @type {SetScore} */ (body);
        this.#onChanged(before, this.set.lastChange ?? 0);
      }
    } catch {
      this.isCutOff = true;
      this.isRefused = false;
      this.problem = text("panel.not_responding");
    }
    this.#onChange();
  }
}

function rememberedOperator() {
  try {
    return localStorage.getItem(OPERATOR) ?? "";
  } catch {
    return ""; // the browser blocks storage
  }
}

/** @param {string} name */
function rememberOperator(name) {
  try {
    localStorage.setItem(OPERATOR, name);
  } catch {
    // The browser blocks storage: the name is known until the page is closed.
  }
}
