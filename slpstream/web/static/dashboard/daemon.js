/** What is asked over HTTP: stations, readiness, recent games, figures for health. Asks again as long as the page lives. */

/**
 * @typedef {Record<string, any>} Answer
 *
 * @typedef {object} Health
 * @property {"connecting" | "ready" | "not ready" | "unreachable"} state
 * @property {string} text
 * @property {string[]} missing        What is not working.
 * @property {number | null} answersMs How long the daemon took to answer.
 * @property {number | null} websockets
 * @property {number | null} missed    Messages that slow subscribers missed, of all since the start.
 * @property {number | null} memoryBytes
 */

const REFRESH_MS = 2000;
const HIDDEN_REFRESH_MS = 15000;
const ANSWER_MS = 5000;
/** The recent games are asked for every so many rounds. */
const GAMES_EVERY = 5;
const MOST_GAMES = 20;
const NOT_FOUND = 404;
const BEHIND_SECONDS = 0.5;
const SAMPLE = /^(\w+)(?:\{(?:.*,)?station="((?:[^"\\]|\\.)*)".*\}|\{[^}]*\})? ([-+.\deE]+|NaN|\+Inf)$/;

export class Daemon {
  #round = 0;
  #gamesWanted = false;
  /** This daemon keeps no list of games. */
  #listless = false;
  /** @type {Map<string, {sum: number, count: number}>} */ #published = new Map();
  #onChange;

  /**
   * @param {URL} base
   * @param {string | undefined} token
   * @param {() => void} onChange
   */
  constructor(base, token, onChange) {
    this.base = base;
    this.token = token;
    this.#onChange = onChange;
    /** As `/v1/stations` describes them. @type {Answer[]} */
    this.stations = [];
    /** @type {Health} */
    this.health = {
      state: "connecting",
      text: "connecting",
      missing: [],
      answersMs: null,
      websockets: null,
      missed: null,
      memoryBytes: null,
    };
    /** The newest games, newest first; `null` when the daemon does not list games. @type {Answer[] | null} */
    this.games = null;
    /** By station, in seconds: what the page shows is this old when it leaves the daemon. @type {Map<string, number>} */
    this.lagSeconds = new Map();
    document.addEventListener("visibilitychange", () => this.#hurry());
    this.#refresh();
  }

  /** A game has ended: the list of games is asked for again soon. */
  gamesChanged() {
    this.#gamesWanted = true;
  }

  /**
   * @param {string} path
   * @returns {Promise<{status: number, body: Answer}>}
   */
  async ask(path) {
    const answer = await this.#fetch(path);
    return { status: answer.status, body: await answer.json() };
  }

  /**
   * Says something to the daemon.
   * @param {string} path
   * @param {Answer} patch
   * @returns {Promise<{status: number, body: Answer}>}
   */
  async say(path, patch) {
    const answer = await this.#fetch(path, { method: "PATCH", body: JSON.stringify(patch) });
    return { status: answer.status, body: await answer.json() };
  }

  /**
   * @param {string} path
   * @param {RequestInit} [request]
   */
  #fetch(path, request = {}) {
    return fetch(new URL(path, this.base), {
      ...request,
      headers: {
        ...(this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }),
        ...(request.body === undefined ? {} : { "content-type": "application/merge-patch+json" }),
      },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
  }

  /** @type {number | undefined} */ #timer;

  #hurry() {
    if (document.visibilityState === "visible" && this.#timer !== undefined) {
      clearTimeout(this.#timer);
      this.#refresh();
    }
  }

  async #refresh() {
    this.#timer = undefined;
    try {
      await this.#look();
    } catch {
      this.#say("unreachable", "daemon not reachable");
    }
    this.#onChange();
    this.#round += 1;
    this.#timer = setTimeout(
      () => this.#refresh(),
      document.visibilityState === "visible" ? REFRESH_MS : HIDDEN_REFRESH_MS,
    );
  }

  async #look() {
    const asked = performance.now();
    const described = await this.ask("v1/stations");
    this.health.answersMs = performance.now() - asked;
    if (described.status !== 200) {
      const refused = described.status === 401;
      this.#say("unreachable", refused ? "access token needed: open this page with ?token=" : described.body.detail);
      return;
    }
    this.stations = described.body.stations;
    const ready = await this.ask("readyz");
    this.#say(ready.body.status, ready.body.status, ready.body.missing);
    this.#figures(await (await this.#fetch("metrics")).text());
    if (!this.#listless && (this.#gamesWanted || this.#round % GAMES_EVERY === 0)) {
      this.#gamesWanted = false;
      const listed = await this.ask(`v1/games?limit=${MOST_GAMES}`);
      this.games = listed.status === 200 ? (listed.body.games ?? []) : null;
      this.#listless = listed.status === NOT_FOUND;
    }
  }

  /**
   * @param {Health["state"]} state
   * @param {string} text
   * @param {string[]} [missing]
   */
  #say(state, text, missing = []) {
    Object.assign(this.health, { state, text, missing });
  }

  /** @param {string} page  In Prometheus's text format. */
  #figures(page) {
    /** @type {Map<string, Map<string, number>>} */
    const values = new Map();
    for (const line of page.split("\n")) {
      const sample = SAMPLE.exec(line);
      if (sample !== null) {
        const [, name, station = "", number] = sample;
        values.set(name, (values.get(name) ?? new Map()).set(unescaped(station), Number(number)));
      }
    }
    const single = (/** @type {string} */ name) => values.get(name)?.get("") ?? null;
    this.health.websockets = single("slpstream_websockets");
    this.health.missed = single("slpstream_lagged_messages_total");
    this.health.memoryBytes = single("process_resident_memory_bytes");
    for (const { id } of this.stations) {
      this.#lagOf(id, (name) => values.get(name)?.get(id) ?? 0);
    }
  }

  /**
   * Bytes that wait, or how long bytes took from the file to the subscribers since the figures before.
   * @param {string} id
   * @param {(name: string) => number} value
   */
  #lagOf(id, value) {
    const waiting = value("slpstream_tail_lag_seconds");
    const sum = value("slpstream_append_to_publish_seconds_sum");
    const count = value("slpstream_append_to_publish_seconds_count");
    const before = this.#published.get(id);
    this.#published.set(id, { sum, count });
    const published = before === undefined ? 0 : count - before.count;
    if (waiting > BEHIND_SECONDS) {
      this.lagSeconds.set(id, waiting);
    } else if (before !== undefined && published > 0) {
      this.lagSeconds.set(id, (sum - before.sum) / published);
    } else {
      this.lagSeconds.delete(id);
    }
  }

  /** The lag of a station in words; empty while nothing comes. @param {string} station */
  lag(station) {
    return inWords(this.lagSeconds.get(station));
  }

  get longestLag() {
    return this.lagSeconds.size ? inWords(Math.max(...this.lagSeconds.values())) : "none";
  }
}

/** @param {number | undefined} seconds */
function inWords(seconds) {
  if (seconds === undefined) {
    return "";
  }
  return seconds < 1 ? `${Math.max(1, Math.round(seconds * 1000))} ms` : `${seconds.toFixed(1)} s`;
}

/** @param {string} label */
function unescaped(label) {
  return label.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
}
