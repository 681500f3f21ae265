/**
 * A client for slpstream's websocket: a single ES module for web pages and for node.
 *
 *     import { connect } from "http://127.0.0.1:5151/static/slpstream.js";
 *
 *     const client = connect({ stations: ["main"], topics: ["game", "event"] });
 *     client.on("event", (event) => console.log(event.kind, event.frame));
 *
 * In node, pass the address of the daemon: `connect({ base: "http://127.0.0.1:5151/" })`. Before node 22, also pass a
 * `WebSocket` class.
 *
 * When the connection is lost, the client reconnects with increasing waits until it is closed, and resumes each log where
 * it stopped. If a log cannot be resumed (its game is gone), listeners of `reset` are called, and the client continues
 * with live messages.
 *
 * `Stream` and `StationView` build on the client for pages that draw: they keep the state of a station at one position in
 * a game's log. They depend on the message envelope only, not on a game: `settings`, `summary` and the entries of `players`
 * are passed on unchanged.
 */

/**
 * @typedef {import("./slpstream_types.js").Message} Message
 * @typedef {import("./slpstream_types.js").Events} Events
 *
 * @typedef {"connecting" | "open" | "waiting" | "closed"} Connection
 *
 * @typedef {object} Subscription
 * @property {string[] | "*"} [stations]    Station names, or `on-air` for the station on air. Default: all.
 * @property {import("./slpstream_types.js").Topic[]} [topics]  Default: all.
 * @property {string[]} [also]              Types of messages that parts send, such as `odds`. Default: none.
 * @property {import("./slpstream_types.js").FramesMode} [frames]  Default: `live`.
 * @property {import("./slpstream_types.js").Delivery} [delivery]  Default: `conflate`.
 * @property {boolean} [finality]           Whether to receive `finalized` messages, as many as there are frames. Default: yes.
 * @property {string[]} [fields]            Fields of a frame to receive. Default: whole frames.
 * @property {number} [rate]                Frames per second of game time. Default: all.
 * @property {string | Record<string, string>} [cursor]  Where to start: `live` (default), `start`, or a saved cursor, also one
 *     for each station.
 *
 * @typedef {object} ClientOptions
 * @property {URL | string} [base]          Address of the daemon. Default: where this module was loaded from.
 * @property {string} [token]               Access token, for daemons that require one.
 * @property {"json" | "delta"} [protocol]  Encoding of messages. Default: `json`. `delta` needs a twentieth of the bytes and
 *     suits distant viewers; it requires `delta.js` next to this module. Listeners receive the same messages.
 * @property {any} [WebSocket]              The class to connect with. Default: that of the browser or of node 22.
 *
 * @typedef {object} Game                   The known state of a game.
 * @property {string} gameId
 * @property {string} format                `slippi` or another format.
 * @property {[number, number]} rate        Frames per second, as a fraction.
 * @property {Record<string, any>} settings
 * @property {import("./slpstream_types.js").GameSummary | null} summary  Has the same shape for every format; `null` until received.
 * @property {number | null} frame          Number of the newest frame; `null` before the first one.
 * @property {Map<number, Record<string, any>>} players
 *     By player index: the newest frame with this player. Eliminated players keep their last frame.
 * @property {Map<number, string>} [names]  Names to show by player index, as the daemon's lists have them, for games of
 *     earlier sets; empty if unknown.
 * @property {Map<number, number> | null} scores  Scores in the game by player index; empty unless it is played for a score.
 * @property {GameResult | null} end        `null` while the game is running.
 *
 * @typedef {object} GameResult
 * @property {string} reason
 * @property {{playerIndex: number, position: number}[]} winners  Empty if there is no winner, or if it is unknown.
 * @property {Record<string, any> | null} gameEnd
 * @property {number | null} durationSeconds
 * @property {boolean} tied                 Several sides came first.
 *
 * @typedef {object} StreamOptions
 * @property {string} station               Name of a station, or `*` for all.
 * @property {() => void} onChange          Called after every change. Draw in the next animation frame, not in the callback.
 * @property {import("./slpstream_types.js").Topic[]} [topics]  Default: `game` and `frame`.
 * @property {string[]} [fields]            Fields of a frame to receive. Default: whole frames.
 * @property {number} [rate]                Frames per second of game time. Default: all.
 * @property {string} [token]               Access token, for daemons that require one.
 * @property {"json" | "delta"} [protocol]  Encoding of messages; see `ClientOptions`.
 * @property {URL | string} [base]          Address of the daemon. Default: where this module was loaded from.
 * @property {(message: any, view: StationView) => void} [onMessage]  Called after the view has processed a message.
 * @property {(station: string) => void} [onReset]  Called when the log of a station cannot be resumed.
 */

/** Close codes for which reconnecting in the same way does not help. */
export const CloseCode = Object.freeze({
  BAD_REQUEST: 4400,
  NOT_AUTHORISED: 4401,
  NOT_FOUND: 4404,
  CURSOR_GONE: 4410,
});

/** Stands for the station on air in subscriptions and addresses. */
export const ON_AIR = "on-air";

const SUBPROTOCOL = "slpstream.v1.json";
const MIN_WAIT_MS = 250;
const MAX_WAIT_MS = 5000;
/** Wait after a refusal, which an early retry would not change. */
const REFUSED_WAIT_MS = 15000;
/** After a connection that lasted this long, the first wait is short again. */
const STABLE_MS = 3000;
/** A running game sends frames all the time. If no message arrives for this long, the connection is considered dead. */
const SILENCE_MS = 10000;
const CONNECT_MS = 8000;
/** Errors need a listener, because the package `ws` throws those that have none. */
const IGNORE = () => {};
const OPEN = 1;

/**
 * Connects to the daemon, and reconnects until `close` is called.
 * @param {Subscription & ClientOptions} [options]
 * @returns {Client}
 */
export function connect(options = {}) {
  return new Client(options);
}

/** A subscription that survives lost connections. Created by `connect`. */
export class Client {
  /** @type {Subscription} */ #subscription;
  /** @type {ClientOptions} */ #options;
  /** @type {Map<string, Set<(value: any) => void>>} */ #listeners = new Map();
  /** @type {Map<string, Position>} */ #positions = new Map();
  /** @type {Set<string>} */ #playing = new Set();
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #watchdog;
  /** When the connection is considered dead, and when the timer checks next. */
  #silentAt = Infinity;
  #watchedAt = 0;
  #attempts = 0;
  #connects = 0;
  #openedAt = 0;

  /** @param {Subscription & ClientOptions} options */
  constructor(options) {
    const { base, token, protocol, WebSocket: socketClass, ...subscription } = options;
    this.#options = { base, token, protocol, WebSocket: socketClass };
    this.#subscription = subscription;
    /** @type {Connection} */
    this.connection = "connecting";
    /** The reason why the daemon refuses the connection; empty if it does not, or if it is unreachable. */
    this.problem = "";
    /** Close code of that refusal, as in `CloseCode`; 0 without one. */
    this.problemCode = 0;
    /** Version of the daemon. */
    this.version = "";
    globalThis.addEventListener?.("online", this.#retryNow);
    // Connecting later gives the caller time to add listeners, so that they receive every message.
    this.#timer = setTimeout(() => this.#connect(), 0);
  }

  /**
   * Calls `listener` with each message of a type. Other types are `message` (all messages), `connection` and `reset`.
   * @template {keyof Events} T
   * @param {T} type
   * @param {(value: Events[T]) => void} listener
   * @returns {() => void} Removes the listener.
   */
  on(type, listener) {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /** The cursor of each station. Save it and pass it to `connect` as `cursor` to resume later without a gap. */
  get cursors() {
    return Object.fromEntries([...this.#positions].map(([station, position]) => [station, position.cursor]));
  }

  /**
   * Changes the given options of the subscription. The logs continue at their positions, unless `changes` has a `cursor` or
   * another `frames` mode.
   * @param {Subscription} changes
   */
  subscribe(changes) {
    const newLog = changes.cursor !== undefined || (changes.frames ?? "live") !== (this.#subscription.frames ?? "live");
    this.#subscription = { ...this.#subscription, ...changes };
    if (changes.cursor === undefined) {
      delete this.#subscription.cursor;
    }
    for (const station of [...this.#positions.keys()]) {
      if (newLog || !this.#includes(station)) {
        this.#forget(station);
      }
    }
    if (this.#socket?.readyState === OPEN) {
      this.#socket.send(JSON.stringify(this.#request()));
    }
  }

  /** Closes the connection for good. Listeners are not called any more. */
  close() {
    globalThis.removeEventListener?.("online", this.#retryNow);
    clearTimeout(this.#timer);
    this.#abandon();
    this.connection = "closed";
  }

  /** @param {string} station */
  #includes(station) {
    const { stations = "*" } = this.#subscription;
    return stations === "*" || stations.includes(station) || stations.includes(ON_AIR);
  }

  /** The `subscribe` message. */
  #request() {
    const { cursor = "live", ...subscription } = this.#subscription;
    return { op: "subscribe", ...subscription, cursor: this.#positions.size > 0 ? this.cursors : cursor };
  }

  #url() {
    const { base = new URL("..", import.meta.url), token } = this.#options;
    const url = new URL("v1/stream", base);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const { op, cursor, ...subscription } = this.#request();
    const { stations = "*" } = subscription;
    const single = Array.isArray(stations) && stations.length === 1;
    // The URL has room for one cursor; several cursors are sent in a `subscribe` message after connecting.
    const urlCursor = typeof cursor === "string" ? cursor : single ? Object.values(cursor)[0] : null;
    if (urlCursor !== null) {
      for (const [name, value] of Object.entries({ ...subscription, stations, cursor: urlCursor })) {
        url.searchParams.set(name === "stations" ? "station" : name, String(value));
      }
    }
    if (token) {
      url.searchParams.set("token", token);
    }
    return url;
  }

  /** Opens a websocket, after loading the delta decoder if necessary. */
  async #connect() {
    this.#setConnection("connecting");
    this.#restartWatchdog(CONNECT_MS);
    const attempt = ++this.#connects;
    const delta = this.#options.protocol === "delta" ? await loadDelta() : null;
    if (this.connection !== "connecting" || attempt !== this.#connects) {
      return; // closed or timed out while the decoder was loading
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
      socket.onerror = IGNORE; // `onclose` follows and reports the error
      if (!url.searchParams.has("cursor")) {
        socket.send(JSON.stringify(this.#request()));
      }
    };
    socket.onmessage = (/** @type {MessageEvent} */ { data }) => {
      const message = decoder === null ? JSON.parse(data) : decoded(decoder, data);
      if (message === null) {
        this.#closed(0, ""); // later deltas depend on this message; a new connection starts with whole messages
      } else {
        this.#receive(message);
      }
    };
    socket.onclose = (/** @type {CloseEvent} */ event) => this.#closed(event.code, String(event.reason ?? ""));
    socket.onerror = () => this.#closed(0, ""); // if it can't connect, node 22 sends no `close`
  }

  /** @param {any} message */
  #receive(message) {
    if (message.type === "hello") {
      this.#hello(message);
    } else if (message.type === "error") {
      this.problem = message.message ?? "";
    } else if (message.type === "on_air") {
      this.#leaveOthers(message.station);
    } else if (message.type === "station") {
      this.#playing[message.state === "playing" ? "add" : "delete"](message.station);
    } else if (message.cursor) {
      this.#savePosition(message);
    }
    const expectsFrames = this.#playing.size > 0 && (this.#subscription.topics?.includes("frame") ?? true);
    this.#restartWatchdog(expectsFrames ? SILENCE_MS : null);
    this.#emit("message", message);
    this.#emit(message.type, message);
  }

  /**
   * Discards the positions of stations that are not on air any more, if the subscription follows the station on air alone.
   * @param {string | null} onAir
   */
  #leaveOthers(onAir) {
    const { stations = "*" } = this.#subscription;
    if (stations !== "*" && stations.every((name) => name === ON_AIR)) {
      for (const station of [...this.#positions.keys(), ...this.#playing]) {
        if (station !== onAir) {
          this.#positions.delete(station);
          this.#playing.delete(station);
        }
      }
    }
  }

  /**
   * Saves the position. If two files of a station grow at the same time, only the game that started last counts.
   * @param {any} message
   */
  #savePosition({ type, station, gameId, cursor }) {
    const position = this.#positions.get(station);
    const starts = type === "game_start" || type === "snapshot";
    if (position === undefined || starts || position.gameId === gameId) {
      this.#positions.set(station, { gameId, cursor });
    }
  }

  /** @param {any} message */
  #hello(message) {
    this.version = message.version ?? "";
    this.problem = "";
    this.problemCode = 0;
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
    this.#abandon();
    const { stations = "*", cursor = "live" } = this.#subscription;
    const resumed = this.#positions.size > 0 || typeof cursor !== "string" || !["live", "start"].includes(cursor);
    if (refused && resumed && code !== CloseCode.NOT_AUTHORISED) {
      // The game is gone, or this is another daemon: continue with live messages.
      delete this.#subscription.cursor;
      new Set([...this.#positions.keys(), ...(stations === "*" ? [] : stations)]).forEach((name) => this.#forget(name));
      this.problem = "";
      this.problemCode = 0;
      this.#connectLater(MIN_WAIT_MS);
      return;
    }
    if (refused) {
      this.problem = reason || this.problem || `refused (${code})`;
      this.problemCode = code;
    }
    const wait = Math.min(MAX_WAIT_MS, MIN_WAIT_MS * 2 ** this.#attempts);
    this.#attempts = Math.min(this.#attempts + 1, 16);
    this.#connectLater(refused ? REFUSED_WAIT_MS : wait * (0.75 + Math.random() / 2));
  }

  /** @param {number} waitMs */
  #connectLater(waitMs) {
    this.#timer = setTimeout(() => this.#connect(), waitMs);
    this.#setConnection("waiting");
  }

  #retryNow = () => {
    if (this.connection === "waiting") {
      clearTimeout(this.#timer);
      this.#connect();
    }
  };

  /** Abandons the socket without waiting for the other end. */
  #abandon() {
    this.#restartWatchdog(null);
    this.#openedAt = 0;
    this.#playing.clear();
    const socket = this.#socket;
    this.#socket = null;
    if (socket !== null) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.onerror = IGNORE;
      socket.close();
    }
  }

  /** @param {string} station */
  #forget(station) {
    this.#positions.delete(station);
    this.#emit("reset", station);
  }

  /**
   * Restarts the timeout after which a silent connection is abandoned. `null` turns it off.
   * @param {number | null} milliseconds
   */
  #restartWatchdog(milliseconds) {
    this.#silentAt = milliseconds === null ? Infinity : performance.now() + milliseconds;
    if (milliseconds === null) {
      clearTimeout(this.#watchdog);
      this.#watchdog = undefined;
    } else if (this.#watchdog === undefined || this.#silentAt < this.#watchedAt) {
      this.#watch(milliseconds);
    }
  }

  /**
   * Checks after some time whether the timeout is over. With thousands of messages a second, a timer for each would be costly.
   * @param {number} milliseconds
   */
  #watch(milliseconds) {
    clearTimeout(this.#watchdog);
    this.#watchedAt = performance.now() + milliseconds;
    this.#watchdog = setTimeout(() => {
      this.#watchdog = undefined;
      const left = this.#silentAt - performance.now();
      if (left > 0) {
        this.#watch(left);
      } else {
        this.#closed(0, "");
      }
    }, milliseconds);
  }

  /** @param {Connection} connection */
  #setConnection(connection) {
    if (connection !== this.connection) {
      this.connection = connection;
      this.#emit("connection", connection);
    }
  }

  /**
   * @param {string} type
   * @param {any} value
   */
  #emit(type, value) {
    this.#listeners.get(type)?.forEach((listener) => listener(value));
  }
}

/** @typedef {{gameId: string, cursor: string}} Position */

/**
 * The decoded message, or `null` if it cannot be decoded.
 * @param {import("./delta.js").DeltaDecoder} decoder
 * @param {ArrayBuffer} data
 */
function decoded(decoder, data) {
  try {
    return decoder.decode(data);
  } catch {
    return null;
  }
}

/** Loads `delta.js` from next to this module; `null` if that fails. */
async function loadDelta() {
  try {
    return await import("./delta.js");
  } catch {
    return null;
  }
}

/** The known state of a station. */
export class StationView {
  /** @param {string} station */
  constructor(station) {
    this.station = station;
    /** @type {"unknown" | import("./slpstream_types.js").StationState} */
    this.state = "unknown";
    this.reason = "";
    /** Whether the station is `offline` only because the daemon has not searched its folder yet. */
    this.starting = false;
    /** The game that `state` refers to; empty without a game. */
    this.stateGameId = "";
    /** The summary of that game. @type {import("./slpstream_types.js").GameSummary | null} */
    this.stateSummary = null;
    /** @type {Game | null} */
    this.game = null;
    /** Position of the newest message of `game` in its log. @type {string | null} */
    this.cursor = null;
    /** The score of the current set. @type {import("./slpstream_types.js").SetScore | null} */
    this.set = null;
    /** Number of messages that were skipped because the connection was slow. */
    this.missed = 0;
  }

  /**
   * Whether the messages received now are from an earlier game than the one that the station is playing. Pages do not
   * redraw while this is true.
   */
  get catchingUp() {
    const playing = this.state === "playing" || this.state === "stalled";
    return playing && this.stateGameId !== "" && this.game !== null && this.game.gameId !== this.stateGameId;
  }

  /** Discards the game, because the following messages do not continue it. */
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
        this.starting = message.starting ?? false;
        this.stateGameId = message.gameId ?? "";
        this.stateSummary = message.summary ?? null;
        if (this.#isCurrent(message) && this.stateSummary !== null) {
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
          addFrame(this.game, message.frame);
        }
        addScores(this.game, message.stats?.extra?.players);
        break;
      case "frame":
        if (this.#isCurrent(message)) {
          addFrame(/** @type {Game} */ (this.game), message.frame);
        }
        break;
      case "event":
      case "stats":
        if (this.#isCurrent(message)) {
          addScores(/** @type {Game} */ (this.game), message.scores ?? message.stats?.extra?.players);
        }
        break;
      case "game_end":
        if (this.#isCurrent(message)) {
          /** @type {Game} */ (this.game).end = gameResult(message);
          addScores(/** @type {Game} */ (this.game), message.scores);
        }
        break;
      case "lagged":
        this.missed += message.missed ?? 0;
        break;
    }
    if (message.cursor && this.#isCurrent(message)) {
      this.cursor = message.cursor;
    }
  }

  /**
   * Whether a message belongs to the current game, which is the one that started last.
   * @param {any} message
   */
  #isCurrent(message) {
    return this.game !== null && message.gameId === this.game.gameId;
  }
}

/**
 * @param {any} message
 * @param {import("./slpstream_types.js").GameSummary | null} summary  The summary from an earlier message, if any.
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
    scores: new Map(),
    end: null,
  };
}

/**
 * @param {Game} game
 * @param {Record<string, any>} frame
 */
function addFrame(game, frame) {
  game.frame = frame.frame;
  for (const [index, entry] of Object.entries(frame.players ?? {})) {
    game.players.set(Number(index), entry);
  }
}

/**
 * @param {Game} game
 * @param {{playerIndex: number, score?: number}[]} [scores]
 */
function addScores(game, scores = []) {
  for (const { playerIndex, score } of scores) {
    if (typeof score === "number") {
      game.scores?.set(playerIndex, score);
    }
  }
}

/**
 * @param {any} message
 * @returns {GameResult}
 */
function gameResult({ reason, winners, gameEnd, durationSeconds, tied = false }) {
  return { reason, winners: winners ?? [], gameEnd: gameEnd ?? null, durationSeconds: durationSeconds ?? null, tied };
}

/** A client that keeps a view of each station in its subscription. */
export class Stream {
  /** @type {Map<string, StationView>} */ #views = new Map();
  /** The station on air, if a station ever was. @type {import("./slpstream_types.js").OnAirMessage | null} */
  onAir = null;
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
      if (message.type === "on_air") {
        this.onAir = message;
      } else if ("station" in message && message.station !== undefined) {
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

  /** The reason why the daemon refuses the connection; empty if it does not, or if it is unreachable. */
  get problem() {
    return this.#client.problem;
  }

  /** Version of the daemon. */
  get version() {
    return this.#client.version;
  }

  /** Changes the given options of the subscription; see `Client.subscribe`. @param {Subscription} changes */
  subscribe(changes) {
    this.#client.subscribe(changes);
  }

  /** Views of all known stations, sorted by name. */
  get stations() {
    return [...this.#views.values()].sort((a, b) => (a.station < b.station ? -1 : 1));
  }

  /**
   * The view of a station; empty until the first message arrives.
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
   * Closes the connection for good. Callbacks are not called any more. Browsers log an error if a socket is closed before
   * it is open, so a socket that is still connecting is closed later.
   */
  close() {
    this.#closed = true;
    if (this.#client.connection !== "connecting") {
      this.#client.close();
    }
  }
}
