/** The daemon's state, polled over HTTP: stations, readiness, recent games and metrics. */

/**
 * @typedef {Record<string, any>} Body
 *
 * @typedef {object} Health
 * @property {"connecting" | "ready" | "not ready" | "unreachable"} state
 * @property {string} text
 * @property {string[]} missing        Parts of the daemon that are not working.
 * @property {number | null} responseMs Response time of the daemon.
 * @property {number | null} websockets
 * @property {number | null} missed    Number of messages that slow subscribers have missed since the start.
 * @property {number | null} memoryBytes
 */

const REFRESH_MS = 2000;
const HIDDEN_REFRESH_MS = 15000;
const TIMEOUT_MS = 5000;
/** Recent games are refreshed in every fifth round. */
const ROUNDS_PER_GAMES = 5;
const MAX_GAMES = 20;
const NOT_FOUND = 404;
const NO_TOKEN = "access token required: open this page with ?token=TOKEN";
/** From this age on, unread bytes count as the lag. */
const MIN_TAIL_LAG_SECONDS = 0.5;
const SAMPLE = /^(\w+)(?:\{(?:.*,)?station="((?:[^"\\]|\\.)*)".*\}|\{[^}]*\})? ([-+.\deE]+|NaN|\+Inf)$/;

export class Daemon {
  #round = 0;
  #gamesStale = false;
  /** Whether this daemon keeps no list of games. */
  #hasNoGames = false;
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
    /** As `/v1/stations` describes them. @type {Body[]} */
    this.stations = [];
    /** @type {Health} */
    this.health = {
      state: "connecting",
      text: "connecting",
      missing: [],
      responseMs: null,
      websockets: null,
      missed: null,
      memoryBytes: null,
    };
    /** The last games, newest first; `null` if the daemon does not list games. @type {Body[] | null} */
    this.games = null;
    /** By station: the age of messages when they leave the daemon. @type {Map<string, number>} */
    this.lagSeconds = new Map();
    document.addEventListener("visibilitychange", () => this.#refreshIfVisible());
    this.#refresh();
  }

  /** Refreshes the list of games in the next round, after a game has ended. */
  gamesChanged() {
    this.#gamesStale = true;
  }

  /**
   * @param {string} path
   * @returns {Promise<{status: number, body: Body}>}
   */
  async get(path) {
    const response = await this.#fetch(path);
    return { status: response.status, body: await response.json() };
  }

  /**
   * @param {string} path
   * @param {Body} changes
   * @returns {Promise<{status: number, body: Body}>}
   */
  async patch(path, changes) {
    const response = await this.#fetch(path, { method: "PATCH", body: JSON.stringify(changes) });
    return { status: response.status, body: await response.json() };
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
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }

  /** @type {number | undefined} */ #timer;

  #refreshIfVisible() {
    if (document.visibilityState === "visible" && this.#timer !== undefined) {
      clearTimeout(this.#timer);
      this.#refresh();
    }
  }

  async #refresh() {
    this.#timer = undefined;
    try {
      await this.#poll();
    } catch {
      this.#setHealth("unreachable", "daemon not reachable");
    }
    this.#onChange();
    this.#round += 1;
    this.#timer = setTimeout(
      () => this.#refresh(),
      document.visibilityState === "visible" ? REFRESH_MS : HIDDEN_REFRESH_MS,
    );
  }

  async #poll() {
    const start = performance.now();
    const stations = await this.get("v1/stations");
    this.health.responseMs = performance.now() - start;
    if (stations.status !== 200) {
      this.#setHealth("unreachable", stations.status === 401 ? NO_TOKEN : stations.body.detail);
      return;
    }
    this.stations = stations.body.stations;
    const ready = await this.get("readyz");
    const { status, missing, starting } = ready.body;
    this.#setHealth(status, missing.length === 0 && starting ? "starting" : status, missing);
    this.#readMetrics(await (await this.#fetch("metrics")).text());
    if (!this.#hasNoGames && (this.#gamesStale || this.#round % ROUNDS_PER_GAMES === 0)) {
      this.#gamesStale = false;
      const games = await this.get(`v1/games?limit=${MAX_GAMES}`);
      this.games = games.status === 200 ? (games.body.games ?? []) : null;
      this.#hasNoGames = games.status === NOT_FOUND;
    }
  }

  /**
   * @param {Health["state"]} state
   * @param {string} text
   * @param {string[]} [missing]
   */
  #setHealth(state, text, missing = []) {
    Object.assign(this.health, { state, text, missing });
  }

  /** @param {string} page  In Prometheus's text format. */
  #readMetrics(page) {
    /** @type {Map<string, Map<string, number>>} */
    const values = new Map();
    for (const line of page.split("\n")) {
      const sample = SAMPLE.exec(line);
      if (sample !== null) {
        const [, name, station = "", number] = sample;
        values.set(name, (values.get(name) ?? new Map()).set(unescapeLabel(station), Number(number)));
      }
    }
    const single = (/** @type {string} */ name) => values.get(name)?.get("") ?? null;
    this.health.websockets = single("slpstream_websockets");
    this.health.missed = single("slpstream_lagged_messages_total");
    this.health.memoryBytes = single("process_resident_memory_bytes");
    for (const { id } of this.stations) {
      this.#updateLag(id, (name) => values.get(name)?.get(id) ?? 0);
    }
  }

  /**
   * The age of unread bytes, or else the mean time from the file to the subscribers since the previous metrics.
   * @param {string} id
   * @param {(name: string) => number} value
   */
  #updateLag(id, value) {
    const waiting = value("slpstream_tail_lag_seconds");
    const sum = value("slpstream_append_to_publish_seconds_sum");
    const count = value("slpstream_append_to_publish_seconds_count");
    const before = this.#published.get(id);
    this.#published.set(id, { sum, count });
    const published = before === undefined ? 0 : count - before.count;
    if (waiting > MIN_TAIL_LAG_SECONDS) {
      this.lagSeconds.set(id, waiting);
    } else if (before !== undefined && published > 0) {
      this.lagSeconds.set(id, (sum - before.sum) / published);
    } else {
      this.lagSeconds.delete(id);
    }
  }

  /** The lag of a station as a text; empty if there are no messages. @param {string} station */
  lag(station) {
    return durationText(this.lagSeconds.get(station));
  }

  get highestLag() {
    return this.lagSeconds.size ? durationText(Math.max(...this.lagSeconds.values())) : "none";
  }
}

/** @param {number | undefined} seconds */
function durationText(seconds) {
  if (seconds === undefined) {
    return "";
  }
  return seconds < 1 ? `${Math.max(1, Math.round(seconds * 1000))} ms` : `${seconds.toFixed(1)} s`;
}

/** @param {string} label */
function unescapeLabel(label) {
  return label.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
}
