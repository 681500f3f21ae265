// Made by deploy/npm/declarations.py.
/**
 * Connects to the daemon, and reconnects until `close` is called.
 * @param {Subscription & ClientOptions} [options]
 * @returns {Client}
 */
export function connect(options?: Subscription & ClientOptions): Client;
/** Close codes for which reconnecting in the same way does not help. */
export const CloseCode: Readonly<{
    BAD_REQUEST: 4400;
    NOT_AUTHORISED: 4401;
    NOT_FOUND: 4404;
    CURSOR_GONE: 4410;
}>;
/** Stands for the station on air in subscriptions and addresses. */
export const ON_AIR: "on-air";
/** A subscription that survives lost connections. Created by `connect`. */
export class Client {
    /** @param {Subscription & ClientOptions} options */
    constructor(options: Subscription & ClientOptions);
    /** @type {Connection} */
    connection: Connection;
    /** The reason why the daemon refuses the connection; empty if it does not, or if it is unreachable. */
    problem: string;
    /** Close code of that refusal, as in `CloseCode`; 0 without one. */
    problemCode: number;
    /** Version of the daemon. */
    version: string;
    /**
     * Calls `listener` with each message of a type. Other types are `message` (all messages), `connection` and `reset`.
     * @template {keyof Events} T
     * @param {T} type
     * @param {(value: Events[T]) => void} listener
     * @returns {() => void} Removes the listener.
     */
    on<T extends keyof Events>(type: T, listener: (value: Events[T]) => void): () => void;
    /** The cursor of each station. Save it and pass it to `connect` as `cursor` to resume later without a gap. */
    get cursors(): {
        [k: string]: string;
    };
    /**
     * Changes the given options of the subscription. The logs continue at their positions, unless `changes` has a `cursor` or
     * another `frames` mode.
     * @param {Subscription} changes
     */
    subscribe(changes: Subscription): void;
    /** Closes the connection for good. Listeners are not called any more. */
    close(): void;
    #private;
}
/** The known state of a station. */
export class StationView {
    /** @param {string} station */
    constructor(station: string);
    station: string;
    /** @type {"unknown" | import("./slpstream_types.js").StationState} */
    state: "unknown" | import("./slpstream_types.js").StationState;
    reason: string;
    /** Whether the station is `offline` only because the daemon has not searched its folder yet. */
    starting: boolean;
    /** The game that `state` refers to; empty without a game. */
    stateGameId: string;
    /** The summary of that game. @type {import("./slpstream_types.js").GameSummary | null} */
    stateSummary: import("./slpstream_types.js").GameSummary | null;
    /** @type {Game | null} */
    game: Game | null;
    /** Position of the newest message of `game` in its log. @type {string | null} */
    cursor: string | null;
    /** The score of the current set. @type {import("./slpstream_types.js").SetScore | null} */
    set: import("./slpstream_types.js").SetScore | null;
    /** Number of messages that were skipped because the connection was slow. */
    missed: number;
    /**
     * Whether the messages received now are from an earlier game than the one that the station is playing. Pages do not
     * redraw while this is true.
     */
    get catchingUp(): boolean;
    /** Discards the game, because the following messages do not continue it. */
    reset(): void;
    /** @param {any} message */
    take(message: any): void;
    #private;
}
/** A client that keeps a view of each station in its subscription. */
export class Stream {
    /** @param {StreamOptions & Subscription} options */
    constructor({ station, onChange, onMessage, onReset, topics, ...others }: StreamOptions & Subscription);
    /** The station on air, if a station ever was. @type {import("./slpstream_types.js").OnAirMessage | null} */
    onAir: import("./slpstream_types.js").OnAirMessage | null;
    get connection(): Connection;
    /** The reason why the daemon refuses the connection; empty if it does not, or if it is unreachable. */
    get problem(): string;
    /** Version of the daemon. */
    get version(): string;
    /** Changes the given options of the subscription; see `Client.subscribe`. @param {Subscription} changes */
    subscribe(changes: Subscription): void;
    /** Views of all known stations, sorted by name. */
    get stations(): StationView[];
    /**
     * The view of a station; empty until the first message arrives.
     * @param {string} name
     * @returns {StationView}
     */
    station(name: string): StationView;
    /**
     * Closes the connection for good. Callbacks are not called any more. Browsers log an error if a socket is closed before
     * it is open, so a socket that is still connecting is closed later.
     */
    close(): void;
    #private;
}
export type Position = {
    gameId: string;
    cursor: string;
};
export type Message = import("./slpstream_types.js").Message;
export type Events = import("./slpstream_types.js").Events;
export type Connection = "closed" | "connecting" | "open" | "waiting";
export type Subscription = {
    /**
     * Station names, or `on-air` for the station on air. Default: all.
     */
    stations?: string[] | "*" | undefined;
    /**
     * Default: all.
     */
    topics?: import("./slpstream_types.js").Topic[] | undefined;
    /**
     * Types of messages that parts send, such as `odds`. Default: none.
     */
    also?: string[] | undefined;
    /**
     * Default: `live`.
     */
    frames?: import("./slpstream_types.js").FramesMode | undefined;
    /**
     * Default: `conflate`.
     */
    delivery?: import("./slpstream_types.js").Delivery | undefined;
    /**
     * Whether to receive `finalized` messages, as many as there are frames. Default: yes.
     */
    finality?: boolean | undefined;
    /**
     * Fields of a frame to receive. Default: whole frames.
     */
    fields?: string[] | undefined;
    /**
     * Frames per second of game time. Default: all.
     */
    rate?: number | undefined;
    /**
     * Where to start: `live` (default), `start`, or a saved cursor, also one
     * for each station.
     */
    cursor?: string | Record<string, string> | undefined;
};
export type ClientOptions = {
    /**
     * Address of the daemon. Default: where this module was loaded from.
     */
    base?: string | URL | undefined;
    /**
     * Access token, for daemons that require one.
     */
    token?: string | undefined;
    /**
     * Encoding of messages. Default: `json`. `delta` needs a twentieth of the bytes and
     * suits distant viewers; it requires `delta.js` next to this module. Listeners receive the same messages.
     */
    protocol?: "delta" | "json" | undefined;
    /**
     * The class to connect with. Default: that of the browser or of node 22.
     */
    WebSocket?: any;
};
/**
 * The known state of a game.
 */
export type Game = {
    gameId: string;
    /**
     * `slippi` or another format.
     */
    format: string;
    /**
     * Frames per second, as a fraction.
     */
    rate: [number, number];
    settings: Record<string, any>;
    /**
     * Has the same shape for every format; `null` until received.
     */
    summary: import("./slpstream_types.js").GameSummary | null;
    /**
     * Number of the newest frame; `null` before the first one.
     */
    frame: number | null;
    /**
     * By player index: the newest frame with this player. Eliminated players keep their last frame.
     */
    players: Map<number, Record<string, any>>;
    /**
     * Names to show by player index, as the daemon's lists have them, for games of
     * earlier sets; empty if unknown.
     */
    names?: Map<number, string> | undefined;
    /**
     * Scores in the game by player index; empty unless it is played for a score.
     */
    scores: Map<number, number> | null;
    /**
     * `null` while the game is running.
     */
    end: GameResult | null;
};
export type GameResult = {
    reason: string;
    /**
     * Empty if there is no winner, or if it is unknown.
     */
    winners: {
        playerIndex: number;
        position: number;
    }[];
    gameEnd: Record<string, any> | null;
    durationSeconds: number | null;
    /**
     * Several sides came first.
     */
    tied: boolean;
};
export type StreamOptions = {
    /**
     * Name of a station, or `*` for all.
     */
    station: string;
    /**
     * Called after every change. Draw in the next animation frame, not in the callback.
     */
    onChange: () => void;
    /**
     * Default: `game` and `frame`.
     */
    topics?: import("./slpstream_types.js").Topic[] | undefined;
    /**
     * Fields of a frame to receive. Default: whole frames.
     */
    fields?: string[] | undefined;
    /**
     * Frames per second of game time. Default: all.
     */
    rate?: number | undefined;
    /**
     * Access token, for daemons that require one.
     */
    token?: string | undefined;
    /**
     * Encoding of messages; see `ClientOptions`.
     */
    protocol?: "delta" | "json" | undefined;
    /**
     * Address of the daemon. Default: where this module was loaded from.
     */
    base?: string | URL | undefined;
    /**
     * Called after the view has processed a message.
     */
    onMessage?: ((message: any, view: StationView) => void) | undefined;
    /**
     * Called when the log of a station cannot be resumed.
     */
    onReset?: ((station: string) => void) | undefined;
};
