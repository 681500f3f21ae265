/**
 * A subscription of the dashboard: every message as it comes, beside the `StationView`s that they make.
 *
 * It connects again by itself. Then the log of each station goes on at the cursor where it was left; where that is not
 * possible it begins anew, and what was known of running games is forgotten. So no number is from another game.
 */

import { StationView } from "../slpstream.js";

/**
 * @typedef {import("../slpstream.js").Message} Message
 *
 * @typedef {object} FeedOptions
 * @property {string[] | "*"} stations
 * @property {string[]} topics
 * @property {string[]} [fields]          What a frame is cut down to. Default: whole frames.
 * @property {number} [rate]              Frames per second of game time. Default: all.
 * @property {"live" | "start"} [from]    Where a log begins: now, or with the first message of the current game.
 * @property {string} [token]
 * @property {URL} base                   Where the daemon is.
 * @property {(message: Message, view: StationView) => void} [onMessage]  After the view has taken the message.
 * @property {() => void} onChange        Draw in the next animation frame, not here.
 */

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
const REFUSED_WAIT_MS = 15000;
/** A game that is played sends all the time; nothing for so long, and the connection is dead although nobody said so. */
const SILENCE_MS = 10000;
const CONNECT_MS = 8000;
const FIRST_REFUSAL = 4000;

export class Feed {
  /** @type {FeedOptions} */ #options;
  /** @type {Map<string, StationView>} */ #views = new Map();
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {number | undefined} */ #timer;
  /** @type {number | undefined} */ #watchdog;
  #attempts = 0;
  #resuming = false;

  /** @param {FeedOptions} options */
  constructor(options) {
    this.#options = options;
    /** @type {"connecting" | "open" | "waiting" | "closed"} */
    this.connection = "connecting";
    /** Why the daemon does not serve us; empty when it does, or when it cannot be reached. */
    this.problem = "";
    /** Version of the daemon. */
    this.version = "";
    addEventListener("online", this.#retryNow);
    document.addEventListener("visibilitychange", this.#retryNow);
    this.#connect();
  }

  /** @param {string} name */
  station(name) {
    let view = this.#views.get(name);
    if (view === undefined) {
      view = new StationView(name);
      this.#views.set(name, view);
    }
    return view;
  }

  close() {
    removeEventListener("online", this.#retryNow);
    document.removeEventListener("visibilitychange", this.#retryNow);
    clearTimeout(this.#timer);
    this.#drop();
    this.connection = "closed";
  }

  #connect() {
    const { base, token } = this.#options;
    const url = new URL("v1/stream", base);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    if (token) {
      url.searchParams.set("token", token);
    }
    const socket = new WebSocket(url, "slpstream.v1.json");
    this.#socket = socket;
    this.#setConnection("connecting");
    this.#watch(CONNECT_MS);
    socket.onopen = () => socket.send(JSON.stringify(this.#subscription()));
    socket.onmessage = (event) => this.#take(JSON.parse(event.data));
    socket.onclose = (event) => this.#closed(event.code, event.reason);
  }

  #subscription() {
    const { stations, topics, fields, rate, from = "live" } = this.#options;
    const cursors = [...this.#views.values()].filter((view) => view.cursor !== null);
    this.#resuming = cursors.length > 0;
    // Stations that have no cursor begin live; that is the daemon's default.
    const cursor = this.#resuming ? Object.fromEntries(cursors.map((view) => [view.station, view.cursor])) : from;
    return { op: "subscribe", stations, topics, fields, rate, delivery: "conflate", cursor };
  }

  /** @param {Message} message */
  #take(message) {
    if (message.type === "hello") {
      this.version = message.version ?? "";
      this.problem = "";
      this.#setConnection("open");
    } else if (message.type === "error") {
      this.problem = message.message ?? "";
    } else if (message.station !== undefined) {
      this.#attempts = 0;
      const view = this.station(message.station);
      view.take(message);
      this.#options.onMessage?.(message, view);
    }
    this.#watch(this.#expectsFrames() ? SILENCE_MS : null);
    this.#options.onChange();
  }

  /**
   * @param {number} code
   * @param {string} reason
   */
  #closed(code, reason) {
    const refused = code >= FIRST_REFUSAL;
    this.#drop();
    if (refused && this.#resuming) {
      // A game is gone, or the daemon is another one: begin anew.
      this.#forget();
      this.problem = "";
      this.#again(FIRST_WAIT_MS);
      return;
    }
    if (refused) {
      this.problem = reason || this.problem || `refused (${code})`;
    }
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#attempts);
    this.#attempts = Math.min(this.#attempts + 1, 16);
    this.#again(refused ? REFUSED_WAIT_MS : wait * (0.75 + Math.random() / 2));
  }

  /** @param {number} waitMs */
  #again(waitMs) {
    this.#setConnection("waiting");
    this.#timer = setTimeout(() => this.#connect(), waitMs);
  }

  #retryNow = () => {
    if (this.connection === "waiting" && document.visibilityState === "visible") {
      clearTimeout(this.#timer);
      this.#connect();
    }
  };

  #drop() {
    this.#watch(null);
    const socket = this.#socket;
    this.#socket = null;
    if (socket !== null) {
      socket.onmessage = socket.onclose = null;
      // Browsers complain about a socket that is closed before it was open.
      socket.onopen = () => socket.close();
      if (socket.readyState !== WebSocket.CONNECTING) {
        socket.close();
      }
    }
  }

  #forget() {
    this.#views.forEach((view) => view.reset());
  }

  #expectsFrames() {
    return [...this.#views.values()].some((view) => view.state === "playing");
  }

  /**
   * After so long without a message the connection is given up; `null`: any silence is fine.
   * @param {number | null} milliseconds
   */
  #watch(milliseconds) {
    clearTimeout(this.#watchdog);
    this.#watchdog = milliseconds === null ? undefined : setTimeout(() => this.#closed(0, ""), milliseconds);
  }

  /** @param {Feed["connection"]} connection */
  #setConnection(connection) {
    if (connection !== this.connection) {
      this.connection = connection;
      this.#options.onChange();
    }
  }
}
