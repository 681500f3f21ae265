/** The daemon's state, polled over HTTP: stations, readiness, recent games and metrics. */

import { Api, Status } from "../api.js";
import { hasText, number, text } from "../texts/texts.js";
import { ABANDONED } from "./attention.js";

/**
 * @typedef {Record<string, any>} Body
 *
 * @typedef {object} Health
 * @property {"connecting" | "ready" | "not ready" | "unreachable"} state
 * @property {string} text
 * @property {"" | "required" | "wrong"} refusal  Whether the daemon needs a token that this page lacks.
 * @property {string[]} missing        Parts of the daemon that are not working.
 * @property {number | null} responseMs Response time of the daemon.
 * @property {number | null} websockets
 * @property {number} obsWebsockets    Browser sources in OBS.
 * @property {number | null} missed    Number of messages that slow subscribers have missed since the start.
 * @property {number | null} memoryBytes
 */

const REFRESH_MS = 2000;
const HIDDEN_REFRESH_MS = 15000;
/** The daemon counts refusals and raises an alert if there are many. */
const REFUSED_REFRESH_MS = 15000;
const TIMEOUT_MS = 5000;
/** The whole page of metrics would take the daemon 30 ms with 64 stations. */
const SAMPLES = Object.freeze({
  websockets: "slpstream_websockets",
  obsWebsockets: "slpstream_obs_websockets",
  missed: "slpstream_lagged_messages_total",
  memory: "process_resident_memory_bytes",
  unread: "slpstream_tail_lag_seconds",
  published: "slpstream_append_to_publish_seconds_count",
  publishedSeconds: "slpstream_append_to_publish_seconds_sum",
});
/** Recent games are refreshed in every fifth round. */
const ROUNDS_PER_GAMES = 5;
const MAX_GAMES = 20;
/** Finished games in the watched folders, the last one first. */
const RECENT = "order=ended&watched=true";
/** Unread bytes older than this count as the lag. */
const MIN_TAIL_LAG_SECONDS = 0.5;
const SAMPLE = /^(\w+)(?:\{(?:.*,)?station="((?:[^"\\]|\\.)*)".*\}|\{[^}]*\})? ([-+.\deE]+|NaN|\+Inf)$/;

export class Daemon {
  #round = 0;
  #gamesStale = false;
  /** By station: its last game, if it is not among the recent games. @type {Map<string, Body | null>} */ #last = new Map();
  /** Whether this daemon keeps no list of games. */
  #hasNoGames = false;
  /** @type {Map<string, {sum: number, count: number}>} */ #published = new Map();
  #onChange;
  #hasDrawn;

  /**
   * @param {string | undefined} token
   * @param {() => void} onChange
   * @param {Promise<unknown>} hasDrawn  Everything but the stations is requested after the first picture.
   */
  constructor(token, onChange, hasDrawn) {
    this.api = new Api(token, { timeoutMs: TIMEOUT_MS });
    this.#onChange = onChange;
    this.#hasDrawn = hasDrawn;
    /** Whether it serves stations of other machines: then it has neither replays of sets nor an audit. */
    this.isGateway = false;
    /** As `/v1/stations` describes them. @type {Body[]} */
    this.stations = [];
    /** @type {Health} */
    this.health = {
      state: "connecting",
      text: text("daemon.connecting"),
      refusal: "",
      missing: [],
      responseMs: null,
      websockets: null,
      obsWebsockets: 0,
      missed: null,
      memoryBytes: null,
    };
    /** The games that ended last, newest first; `null` if the daemon does not list games. @type {Body[] | null} */
    this.games = null;
    /** The station on air; `null` if none has ever been on air. @type {import("../slpstream_types.js").OnAirMessage | null} */
    this.onAir = null;
    /** By station: the age of messages when they leave the daemon. @type {Map<string, number>} */
    this.lagSeconds = new Map();
    document.addEventListener("visibilitychange", () => this.#refreshIfVisible());
    this.#refresh();
  }

  /** Refreshes the list of games in the next round, after a game has ended. */
  gamesChanged() {
    this.#gamesStale = true;
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
      this.#setHealth("unreachable", text("daemon.unreachable"));
    }
    this.#onChange();
    this.#round += 1;
    const refreshMs = this.health.refusal === "" ? REFRESH_MS : REFUSED_REFRESH_MS;
    this.#timer = setTimeout(() => this.#refresh(), document.visibilityState === "visible" ? refreshMs : HIDDEN_REFRESH_MS);
  }

  async #poll() {
    const start = performance.now();
    const stations = await this.api.get("v1/stations");
    this.health.responseMs = performance.now() - start;
    if (stations.status !== Status.OK) {
      const refused = stations.status === Status.UNAUTHORISED;
      this.#setHealth("unreachable", refused ? text("daemon.refused") : stations.body.detail);
      this.health.refusal = refused ? (this.api.token === undefined ? "required" : "wrong") : "";
      return;
    }
    this.health.refusal = "";
    this.stations = stations.body.stations;
    this.#onChange();
    await this.#hasDrawn;
    const ready = await this.api.get("readyz");
    const { status, missing, starting } = ready.body;
    this.#setHealth(status, stateText(missing.length === 0 && starting ? "starting" : status), missing);
    this.#readMetrics(await this.api.text(`metrics?names=${Object.values(SAMPLES)}`));
    if (!this.#hasNoGames && (this.#gamesStale || this.#round % ROUNDS_PER_GAMES === 0)) {
      this.#gamesStale = false;
      const games = await this.api.get(`v1/games?${RECENT}&limit=${MAX_GAMES}`);
      this.games = games.status === Status.OK ? (games.body.games ?? []) : null;
      this.#hasNoGames = games.status === Status.NOT_FOUND;
      for (const item of [...(this.games ?? [])].reverse()) {
        for (const station of item.inProgress ? [item.station] : item.stations) {
          this.#last.set(station, item);
        }
      }
      await this.#loadLastGames();
    }
  }

  /** Asks, once, for the last game of each station that plays none and has none among the recent games. */
  async #loadLastGames() {
    for (const { id, state, files } of this.stations) {
      if (this.games !== null && !this.#last.has(id) && state !== "playing" && files?.finished > 0) {
        this.#last.set(id, null);
        const games = await this.api.get(`v1/games?${RECENT}&limit=1&station=${encodeURIComponent(id)}`);
        const [item] = games.status === Status.OK ? (games.body.games ?? []) : [];
        if (item !== undefined && this.#last.get(id) === null) {
          this.#last.set(id, item);
        }
      }
    }
  }

  /**
   * The last finished game of a station, as an item of a list, for pages that were opened after it; `null` if it is unknown.
   * @param {string} station
   */
  lastGame(station) {
    const item = this.#last.get(station) ?? this.stations.find(({ id }) => id === station)?.game;
    return !item || item.inProgress ? null : item;
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
    this.health.websockets = single(SAMPLES.websockets);
    this.health.obsWebsockets = single(SAMPLES.obsWebsockets) ?? 0;
    this.health.missed = single(SAMPLES.missed);
    this.health.memoryBytes = single(SAMPLES.memory);
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
    const waiting = value(SAMPLES.unread);
    const sum = value(SAMPLES.publishedSeconds);
    const count = value(SAMPLES.published);
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
    return this.lagSeconds.size ? durationText(Math.max(...this.lagSeconds.values())) : text("daemon.no_lag");
  }
}

/** @param {number | undefined} seconds */
function durationText(seconds) {
  if (seconds === undefined) {
    return "";
  }
  return seconds < 1
    ? text("daemon.milliseconds", { count: Math.max(1, Math.round(seconds * 1000)) })
    : text("daemon.seconds", { seconds: number(seconds, { minimumFractionDigits: 1, maximumFractionDigits: 1 }) });
}

/** A state of the daemon or of a station in words. @param {string} state */
export function stateText(state) {
  const key = `state.${state.replaceAll(" ", "_")}`;
  return hasText(key) ? text(key) : state;
}

/** The frequent reasons of the daemon for a state, which are in English. @type {Record<string, string>} */
const REASONS = {
  "the file does not grow": "state.reason_no_growth",
  "the folder is missing": "state.reason_no_folder",
  [ABANDONED]: "state.reason_abandoned",
};

/**
 * Why a station is in its state, as far as possible in the page's language.
 * @param {string} [reason]
 */
export function reasonText(reason = "") {
  const [first, ...remarks] = reason.split("; ");
  return [first in REASONS ? text(REASONS[first]) : first, ...remarks].join("; ");
}

/** @param {string} label */
function unescapeLabel(label) {
  return label.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
}
