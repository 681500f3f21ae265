/**
 * A client of slpstream's websocket: one ES module, nothing else, for web pages and for node.
 *
 *     import { connect } from "http://127.0.0.1:5151/static/slpstream.js";
 *
 *     const client = connect({ stations: ["main"], topics: ["game", "event"] });
 *     client.on("event", (event) => console.log(event.kind, event.frame));
 *
 * In node give it the address of the daemon and a websocket: `connect({ base: "http://127.0.0.1:5151/", WebSocket })`.
 *
 * When the connection is lost it connects again, with growing waits, for as long as it is not closed, and the log goes on
 * where it was left. Where that is not possible (the game is gone) listeners to `reset` are told so, and it begins with
 * what is live.
 *
 * On top of it, for pages that draw: `Stream` and `StationView`, the state of a station as of one place in a game's log.
 * They know the envelope of the messages and no game: `settings`, `summary` and the entries of `players` are as they came.
 */

/**
 * @typedef {import("./slpstream_types.js").Message} Message
 * @typedef {import("./slpstream_types.js").Events} Events
 *
 * @typedef {"connecting" | "open" | "waiting" | "closed"} Connection
 *
 * @typedef {object} Subscription
 * @property {string[] | "*"} [stations]    Names; default: all.
 * @property {import("./slpstream_types.js").Topic[]} [topics]  Default: all.
 * @property {import("./slpstream_types.js").FramesMode} [frames]  Default: `live`.
 * @property {import("./slpstream_types.js").Delivery} [delivery]  Default: `conflate`.
 * @property {string[]} [fields]            What a frame is cut down to. Default: whole frames.
 * @property {number} [rate]                Frames per second of game time. Default: all.
 * @property {string} [cursor]              Where to begin: `live` (default), `start`, or a cursor that was kept.
 *
 * @typedef {object} ClientOptions
 * @property {URL | string} [base]          Where the daemon is. Default: where this module came from.
 * @property {string} [token]               Access token, for daemons that ask for one.
 * @property {"json" | "delta"} [protocol]  How messages come. Default: `json`. `delta`: a twentieth of the bytes, for viewers
 *     who are far away; it needs `delta.js` beside this module. What listeners are told is the same.
 * @property {any} [WebSocket]              The class to connect with. Default: the browser's; in node that of `ws`.
 *
 * @typedef {object} Game                   A game as far as it is known.
 * @property {string} gameId
 * @property {string} format                `slippi` and others.
 * @property {[number, number]} rate        Frames per second, as a fraction.
 * @property {Record<string, any>} settings
 * @property {import("./slpstream_types.js").GameSummary | null} summary  The same for every format; `null` until it comes.
 * @property {number | null} frame          Number of the newest frame, `null` before the first one.
 * @property {Map<number, Record<string, any>>} players
 *     By player index: the newest frame in which the player was. Who is out of the game keeps the last one.
 * @property {GameResult | null} end        `null` while the game goes on.
 *
 * @typedef {object} GameResult
 * @property {string} reason
 * @property {{playerIndex: number, position: number}[]} winners  Empty when nobody won, or nobody knows.
 * @property {Record<string, any> | null} gameEnd
 * @property {number | null} durationSeconds
 *
 * @typedef {object} StreamOptions
 * @property {string} station               A station's name, or `*` for all.
 * @property {() => void} onChange          Called after every change; draw in the next animation frame, not here.
 * @property {import("./slpstream_types.js").Topic[]} [topics]  Default: `game` and `frame`.
 * @property {string[]} [fields]            What a frame is cut down to. Default: whole frames.
 * @property {number} [rate]                Frames per second of game time. Default: all.
 * @property {string} [token]               Access token, for daemons that ask for one.
 * @property {"json" | "delta"} [protocol]  How messages come; see `ClientOptions`.
 * @property {URL | string} [base]          Where the daemon is. Default: where this module came from.
 * @property {(message: any, view: StationView) => void} [onMessage]  A message of a station, after its view has taken it.
 * @property {(station: string) => void} [onReset]  The log of a station does not go on where it was.
 */

/** Close codes that say more than "try again". */
export const CloseCode = Object.freeze({
  BAD_REQUEST: 4400,
  NOT_AUTHORISED: 4401,
  NOT_FOUND: 4404,
  CURSOR_GONE: 4410,
});

const SUBPROTOCOL = "slpstream.v1.json";
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
/** After a refusal that trying again does not mend. */
const REFUSED_WAIT_MS = 15000;
/** A connection that held this long was a good one: the next wait is short again. */
const STABLE_MS = 3000;
/** A game that is played sends all the time; nothing for so long, and the connection is dead although nobody said so. */
const SILENCE_MS = 10000;
const CONNECT_MS = 8000;
const OPEN = 1;

/**
 * Connects, and stays connected until `close`.
 * @param {Subscription & ClientOptions} [options]
 * @returns {Client}
 */
export function connect(options = {}) {
  return new Client(options);
}

/** One subscription that outlives its connections. Made by `connect`. */
export class Client {
  /** @type {Subscription} */ #wanted;
  /** @type {ClientOptions} */ #options;
  /** @type {Map<string, Set<(what: any) => void>>} */ #listeners = new Map();
  /** @type {Map<string, Place>} */ #places = new Map();
  /** @type {Set<string>} */ #playing = new Set();
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #watchdog;
  #attempts = 0;
  #connects = 0;
  #openedAt = 0;

  /** @param {Subscription & ClientOptions} options */
  constructor(options) {
    const { base, token, protocol, WebSocket: socketClass, ...wanted } = options;
    this.#options = { base, token, protocol, WebSocket: socketClass };
    this.#wanted = wanted;
    /** @type {Connection} */
    this.connection = "connecting";
    /** Why the daemon does not serve us; empty when it does, or when it cannot be reached. */
    this.problem = "";
    /** Version of the daemon. */
    this.version = "";
    globalThis.addEventListener?.("online", this.#retryNow);
    // Whoever listens is told everything: nothing happens before the caller had a turn to say so.
    this.#timer = setTimeout(() => this.#connect(), 0);
  }

  /**
   * Tells `listener` of every message of a type, of `message` (all), `connection` or `reset`.
   * @template {keyof Events} T
   * @param {T} type
   * @param {(what: Events[T]) => void} listener
   * @returns {() => void} Call it to listen no more.
   */
  on(type, listener) {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /** Where the log of each station goes on. Keep it, and a later `connect` with that `cursor` misses nothing. */
  get cursors() {
    return Object.fromEntries([...this.#places].map(([station, place]) => [station, place.cursor]));
  }

  /**
   * Changes what is subscribed to; what is not named stays. The log goes on where it is, unless there is a new `cursor` or
   * another `frames` mode.
   * @param {Subscription} changes
   */
  subscribe(changes) {
    const otherLog = changes.cursor !== undefined || (changes.frames ?? "live") !== (this.#wanted.frames ?? "live");
    this.#wanted = { ...this.#wanted, ...changes };
    if (changes.cursor === undefined) {
      delete this.#wanted.cursor;
    }
    for (const station of [...this.#places.keys()]) {
      if (otherLog || !this.#wants(station)) {
        this.#forget(station);
      }
    }
    if (this.#socket?.readyState === OPEN) {
      this.#socket.send(JSON.stringify(this.#request()));
    }
  }

  /** The end: no connection any more, and nobody is told anything. */
  close() {
    globalThis.removeEventListener?.("online", this.#retryNow);
    clearTimeout(this.#timer);
    this.#drop();
    this.connection = "closed";
  }

  // -- what is asked for ----------------------------------------------------------------------------------------------

  /** @param {string} station */
  #wants(station) {
    const { stations = "*" } = this.#wanted;
    return stations === "*" || stations.includes(station);
  }

  /** The `subscribe` message. Cursors of several stations have room in no URL. */
  #request() {
    const { cursor = "live", ...wanted } = this.#wanted;
    const known = this.cursors;
    return { op: "subscribe", ...wanted, cursor: this.#places.size > 0 ? known : cursor };
  }

  #url() {
    const { base = new URL("..", import.meta.url), token } = this.#options;
    const url = new URL("v1/stream", base);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const { op, cursor, ...wanted } = this.#request();
    const { stations = "*" } = wanted;
    const ofOne = Array.isArray(stations) && stations.length === 1;
    const place = typeof cursor === "string" ? cursor : ofOne ? Object.values(cursor)[0] : null;
    if (place !== null) {
      for (const [name, value] of Object.entries({ ...wanted, stations, cursor: place })) {
        url.searchParams.set(name === "stations" ? "station" : name, String(value));
      }
    }
    if (token) {
      url.searchParams.set("token", token);
    }
    return url;
  }

  // -- one connection after the other ---------------------------------------------------------------------------------

  /** Whoever wants deltas waits until the code for them is there. */
  async #connect() {
    this.#setConnection("connecting");
    this.#watch(CONNECT_MS);
    const attempt = ++this.#connects;
    const delta = this.#options.protocol === "delta" ? await loadDelta() : null;
    if (this.connection !== "connecting" || attempt !== this.#connects) {
      return; // it was closed, or has waited for too long
    }
    if (delta === null && this.#options.protocol === "delta") {
      this.#closed(0, "");
      return;
    }
    const decoder = delta === null ? null : new delta.DeltaDecoder();
    const url = this.#url();
    const Socket = this.#options.WebSocket ?? globalThis.WebSocket;
    const socket = new Socket(String(url), delta === null ? SUBPROTOCOL : delta.SUBPROTOCOL);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    socket.onopen = () => {
      if (!url.searchParams.has("cursor")) {
        socket.send(JSON.stringify(this.#request()));
      }
    };
    socket.onmessage = (/** @type {MessageEvent} */ { data }) => {
      const message = decoder === null ? JSON.parse(data) : readable(decoder, data);
      if (message === null) {
        this.#closed(0, ""); // what follows could not be read either; a new connection begins with whole messages
      } else {
        this.#take(message);
      }
    };
    socket.onclose = (/** @type {CloseEvent} */ event) => this.#closed(event.code, String(event.reason ?? ""));
    socket.onerror = () => {}; // what is wrong comes with `onclose`
  }

  /** @param {any} message */
  #take(message) {
    if (message.type === "hello") {
      this.#hello(message);
    } else if (message.type === "error") {
      this.problem = message.message ?? "";
    } else if (message.type === "station") {
      this.#playing[message.state === "playing" ? "add" : "delete"](message.station);
    } else if (message.cursor) {
      this.#note(message);
    }
    const framesAreExpected = this.#playing.size > 0 && (this.#wanted.topics?.includes("frame") ?? true);
    this.#watch(framesAreExpected ? SILENCE_MS : null);
    this.#tell("message", message);
    this.#tell(message.type, message);
  }

  /**
   * Keeps the place. Two files of a station may grow at once; the game that began last is the one that counts.
   * @param {any} message
   */
  #note({ type, station, gameId, cursor }) {
    const place = this.#places.get(station);
    const begins = type === "game_start" || type === "snapshot";
    if (place === undefined || begins || place.gameId === gameId) {
      this.#places.set(station, { gameId, cursor });
    }
  }

  /** @param {any} message */
  #hello(message) {
    this.version = message.version ?? "";
    this.problem = "";
    this.#openedAt = performance.now();
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
    const { stations = "*", cursor = "live" } = this.#wanted;
    const resumed = this.#places.size > 0 || !["live", "start"].includes(cursor);
    if (refused && resumed && code !== CloseCode.NOT_AUTHORISED) {
      // The game is gone, or the daemon is another one: begin with what is live.
      delete this.#wanted.cursor;
      new Set([...this.#places.keys(), ...(stations === "*" ? [] : stations)]).forEach((name) => this.#forget(name));
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
    this.#timer = setTimeout(() => this.#connect(), waitMs);
    this.#setConnection("waiting");
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
    this.#playing.clear();
    const socket = this.#socket;
    this.#socket = null;
    if (socket !== null) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
  }

  /** @param {string} station */
  #forget(station) {
    this.#places.delete(station);
    this.#tell("reset", station);
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
      this.#tell("connection", connection);
    }
  }

  /**
   * @param {string} type
   * @param {any} what
   */
  #tell(type, what) {
    this.#listeners.get(type)?.forEach((listener) => listener(what));
  }
}

/** @typedef {{gameId: string, cursor: string}} Place */

/**
 * @param {import("./delta.js").DeltaDecoder} decoder
 * @param {ArrayBuffer} data
 */
function readable(decoder, data) {
  try {
    return decoder.decode(data);
  } catch {
    return null;
  }
}

/** Beside this module; `null` when it cannot be had at present. */
async function loadDelta() {
  try {
    return await import("./delta.js");
  } catch {
    return null;
  }
}

/** What is known of one station. */
export class StationView {
  /** @param {string} station */
  constructor(station) {
    this.station = station;
    /** @type {"unknown" | import("./slpstream_types.js").StationState} */
    this.state = "unknown";
    this.reason = "";
    /** Game of which `state` speaks; empty when there is none. */
    this.stateGameId = "";
    /** The summary of that game. @type {import("./slpstream_types.js").GameSummary | null} */
    this.stateSummary = null;
    /** @type {Game | null} */
    this.game = null;
    /** Place of the newest message of `game` in its log. @type {string | null} */
    this.cursor = null;
    /** The score of the set that is played. @type {import("./slpstream_types.js").SetScore | null} */
    this.set = null;
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

  /** @param {any} message */
  take(message) {
    switch (message.type) {
      case "station":
        this.state = message.state;
        this.reason = message.reason ?? "";
        this.stateGameId = message.gameId ?? "";
        this.stateSummary = message.summary ?? null;
        if (this.#isOurs(message) && this.stateSummary !== null) {
          /** @type {Game} */ (this.game).summary = this.stateSummary;
        }
        break;
      case "set":
        this.set = message;
        break;
      case "snapshot":
      case "game_start":
        this.game = newGame(message, message.gameId === this.stateGameId ? this.stateSummary : null);
        this.set = message.set ?? this.set;
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
          /** @type {Game} */ (this.game).end = result(message);
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
   * The game that began last is the one that counts.
   * @param {any} message
   */
  #isOurs(message) {
    return this.game !== null && message.gameId === this.game.gameId;
  }
}

/**
 * @param {any} message
 * @param {import("./slpstream_types.js").GameSummary | null} summary  As far as it has come in another message.
 * @returns {Game}
 */
function newGame(message, summary) {
  return {
    gameId: message.gameId,
    format: message.format ?? "",
    rate: message.rate ?? [60, 1],
    settings: message.settings ?? {},
    summary: message.summary ?? summary,
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

/**
 * @param {any} message
 * @returns {GameResult}
 */
function result({ reason, winners, gameEnd, durationSeconds }) {
  return { reason, winners: winners ?? [], gameEnd: gameEnd ?? null, durationSeconds: durationSeconds ?? null };
}

/** Views of all stations of a subscription, for as long as the page lives. */
export class Stream {
  /** @type {Map<string, StationView>} */ #views = new Map();
  #client;
  #closed = false;

  /** @param {StreamOptions & Subscription} options */
  constructor({ station, onChange, onMessage, onReset, topics = ["game", "frame"], ...others }) {
    const client = connect({ stations: station === "*" ? "*" : [station], topics, ...others });
    this.#client = client;
    client.on("reset", (name) => {
      this.station(name).reset();
      onReset?.(name);
    });
    client.on("message", (message) => {
      if (this.#closed) {
        return;
      }
      if ("station" in message && message.station !== undefined) {
        const view = this.station(message.station);
        view.take(message);
        onMessage?.(message, view);
      } else if (message.type === "lagged") {
        this.#views.forEach((view) => view.take(message));
      }
      onChange();
    });
    client.on("connection", () => {
      if (this.#closed) {
        client.close();
      } else {
        onChange();
      }
    });
  }

  get connection() {
    return this.#client.connection;
  }

  /** Why the daemon does not serve us; empty when it does, or when it cannot be reached. */
  get problem() {
    return this.#client.problem;
  }

  /** Version of the daemon. */
  get version() {
    return this.#client.version;
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

  /**
   * The end: no connection any more, and nobody is told anything. Browsers complain about a socket that is closed before it
   * was open, so that is waited for.
   */
  close() {
    this.#closed = true;
    if (this.#client.connection !== "connecting") {
      this.#client.close();
    }
  }
}
