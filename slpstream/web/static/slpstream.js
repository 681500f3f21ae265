/**
 * A client of slpstream's websocket for web pages: one ES module, nothing else.
 *
 *     import { Stream } from "./slpstream.js";
 *
 *     const stream = new Stream({ station: "main", onChange: () => draw(stream.station("main")) });
 *
 * It connects, and when the connection is lost it connects again, for as long as the page lives. What a page draws is in a
 * `StationView`, which always is the state as of one place in a game's log. After a lost connection the log goes on where it
 * was left; where that is not possible the view is emptied, and the daemon's snapshot fills it. So a number in a view is
 * never from another game and never older than one that was there before.
 *
 * It knows the envelope of the messages and no game: `settings` and the entries of `players` are as they came.
 */

/**
 * @typedef {Record<string, any>} Message  A message of the daemon, as in the reference.
 *
 * @typedef {object} Game                A game as far as it is known.
 * @property {string} gameId
 * @property {string} format             `slippi` and others.
 * @property {[number, number]} rate     Frames per second, as a fraction.
 * @property {Record<string, any>} settings
 * @property {number | null} frame       Number of the newest frame, `null` before the first one.
 * @property {Map<number, Record<string, any>>} players
 *     By player index: the newest frame in which the player was. Who is out of the game keeps the last one.
 * @property {{reason: string, winners: Record<string, any>[]} | null} end  `null` while the game goes on.
 *
 * @typedef {"connecting" | "open" | "waiting" | "closed"} Connection
 *
 * @typedef {object} StreamOptions
 * @property {string} station            A station's name, or `*` for all.
 * @property {() => void} onChange       Called after every change; draw in the next animation frame, not here.
 * @property {string[]} [topics]         Default: `game` and `frame`.
 * @property {string[]} [fields]         What a frame is cut down to. Default: whole frames.
 * @property {number} [rate]             Frames per second of game time. Default: all.
 * @property {string} [token]            Access token, for daemons that ask for one.
 * @property {URL | string} [base]       Where the daemon is. Default: where this module came from.
 */

/** Close codes that say more than "try again". */
export const CloseCode = Object.freeze({
  BAD_REQUEST: 4400,
  NOT_AUTHORISED: 4401,
  NOT_FOUND: 4404,
  CURSOR_GONE: 4410,
});

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
/** After a refusal that trying again does not mend. */
const REFUSED_WAIT_MS = 15000;
/** A connection that held this long was a good one: the next wait is short again. */
const STABLE_MS = 3000;
/** A game that is played sends all the time; nothing for so long, and the connection is dead although nobody said so. */
const SILENCE_MS = 10000;
const CONNECT_MS = 8000;

/** What is known of one station. */
export class StationView {
  /** @param {string} station */
  constructor(station) {
    this.station = station;
    /** @type {"unknown" | "idle" | "playing" | "stalled" | "offline"} */
    this.state = "unknown";
    this.reason = "";
    /** Game of which `state` speaks; empty when there is none. */
    this.stateGameId = "";
    /** @type {Game | null} */
    this.game = null;
    /** Place of the newest message of `game` in its log. @type {string | null} */
    this.cursor = null;
    /** Messages that were left out because the connection was slow. */
    this.missed = 0;
  }

  /**
   * Whether what comes is still the past: the station plays another game than the one whose log is being read.
   * Nobody wants to see that; keep what was drawn.
   */
  get catchingUp() {
    const playing = this.state === "playing" || this.state === "stalled";
    return playing && this.stateGameId !== "" && this.game !== null && this.game.gameId !== this.stateGameId;
  }

  /** Forgets the game: what follows does not continue it. */
  reset() {
    this.game = null;
    this.cursor = null;
  }

  /** @param {Message} message */
  take(message) {
    switch (message.type) {
      case "station":
        this.state = message.state;
        this.reason = message.reason ?? "";
        this.stateGameId = message.gameId ?? "";
        break;
      case "snapshot":
      case "game_start":
        this.game = newGame(message);
        if (message.frame) {
          takeFrame(this.game, message.frame);
        }
        break;
      case "frame":
        if (this.#isOurs(message)) {
          takeFrame(/** @type {Game} */ (this.game), message.frame);
        }
        break;
      case "game_end":
        if (this.#isOurs(message)) {
          /** @type {Game} */ (this.game).end = { reason: message.reason, winners: message.winners ?? [] };
        }
        break;
      case "lagged":
        this.missed += message.missed ?? 0;
        break;
    }
    if (message.cursor && this.#isOurs(message)) {
      this.cursor = message.cursor;
    }
  }

  /**
   * Two files of a station may grow at once. The game that began last is the one that counts.
   * @param {Message} message
   */
  #isOurs(message) {
    return this.game !== null && message.gameId === this.game.gameId;
  }
}

/**
 * @param {Message} message
 * @returns {Game}
 */
function newGame(message) {
  return {
    gameId: message.gameId,
    format: message.format ?? "",
    rate: message.rate ?? [60, 1],
    settings: message.settings ?? {},
    frame: null,
    players: new Map(),
    end: null,
  };
}

/**
 * @param {Game} game
 * @param {Record<string, any>} frame
 */
function takeFrame(game, frame) {
  game.frame = frame.frame;
  for (const [index, entry] of Object.entries(frame.players ?? {})) {
    game.players.set(Number(index), entry);
  }
}

/** A subscription that lives as long as the page. */
export class Stream {
  /** @type {StreamOptions} */ #options;
  /** @type {Map<string, StationView>} */ #views = new Map();
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {number | undefined} */ #timer;
  /** @type {number | undefined} */ #watchdog;
  #attempts = 0;
  #openedAt = 0;
  #resuming = false;

  /** @param {StreamOptions} options */
  constructor(options) {
    this.#options = options;
    /** @type {Connection} */
    this.connection = "connecting";
    /** Why the daemon does not serve us; empty when it does, or when it cannot be reached. */
    this.problem = "";
    /** Version of the daemon. */
    this.version = "";
    addEventListener("online", this.#retryNow);
    this.#connect();
  }

  /** All stations that were heard of, by name. */
  get stations() {
    return [...this.#views.values()].sort((a, b) => (a.station < b.station ? -1 : 1));
  }

  /**
   * The view of a station; empty until the daemon has said something.
   * @param {string} name
   * @returns {StationView}
   */
  station(name) {
    let view = this.#views.get(name);
    if (view === undefined) {
      view = new StationView(name);
      this.#views.set(name, view);
    }
    return view;
  }

  /** The end: no connection any more, and no `onChange`. */
  close() {
    removeEventListener("online", this.#retryNow);
    clearTimeout(this.#timer);
    this.#drop();
    this.connection = "closed";
  }

  // -- one connection after the other ---------------------------------------------------------------------------------

  #connect() {
    const cursor = this.#cursor();
    this.#resuming = cursor !== null;
    const socket = new WebSocket(this.#url(cursor), "slpstream.v1.json");
    this.#socket = socket;
    this.#setConnection("connecting");
    this.#watch(CONNECT_MS);
    socket.onmessage = (event) => this.#take(JSON.parse(event.data));
    socket.onclose = (event) => this.#closed(event.code, event.reason);
  }

  /** @param {string | null} cursor */
  #url(cursor) {
    const { station, topics = ["game", "frame"], fields, rate, token, base } = this.#options;
    const url = new URL("v1/stream", base ?? new URL("..", import.meta.url));
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const query = url.searchParams;
    query.set("station", station);
    query.set("topics", topics.join(","));
    query.set("delivery", "conflate");
    query.set("cursor", cursor ?? "live");
    if (fields !== undefined) {
      query.set("fields", fields.join(","));
    }
    if (rate !== undefined) {
      query.set("rate", String(rate));
    }
    if (token) {
      query.set("token", token);
    }
    return url;
  }

  /** Where the log goes on. A cursor is a place in one station's log, so with `*` there is none. */
  #cursor() {
    return this.#views.get(this.#options.station)?.cursor ?? null;
  }

  /** @param {Message} message */
  #take(message) {
    if (message.type === "hello") {
      this.#hello(message);
    } else if (message.type === "error") {
      this.problem = message.message ?? "";
    } else if (message.station !== undefined) {
      this.station(message.station).take(message);
    } else if (message.type === "lagged") {
      this.#views.forEach((view) => view.take(message));
    }
    this.#watch(this.#expectsFrames() ? SILENCE_MS : null);
    this.#options.onChange();
  }

  /** @param {Message} message */
  #hello(message) {
    this.version = message.version ?? "";
    this.problem = "";
    this.#openedAt = performance.now();
    if (!this.#resuming) {
      this.#forget();
    }
    this.#setConnection("open");
  }

  /**
   * @param {number} code
   * @param {string} reason
   */
  #closed(code, reason) {
    const refused = code >= 4000;
    if (this.#openedAt > 0 && performance.now() - this.#openedAt > STABLE_MS) {
      this.#attempts = 0;
    }
    this.#drop();
    if (refused && this.#resuming) {
      // The game is gone, or the daemon is another one: begin with what is live.
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
    if (this.connection === "waiting") {
      clearTimeout(this.#timer);
      this.#connect();
    }
  };

  /** Lets the socket go without waiting for the other end. */
  #drop() {
    this.#watch(null);
    this.#openedAt = 0;
    const socket = this.#socket;
    this.#socket = null;
    if (socket !== null) {
      socket.onmessage = socket.onclose = null;
      socket.close();
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
    this.#watchdog = undefined;
    if (milliseconds !== null) {
      this.#watchdog = setTimeout(() => this.#closed(0, ""), milliseconds);
    }
  }

  /** @param {Connection} connection */
  #setConnection(connection) {
    if (connection !== this.connection) {
      this.connection = connection;
      this.#options.onChange();
    }
  }
}
