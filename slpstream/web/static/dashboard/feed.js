/**
 * A subscription of the dashboard: the client's messages as they come, beside the `StationView`s that they make.
 *
 * The client connects again by itself and resumes each station where its log was left. Where that is not possible it says so,
 * and what was known of the game is forgotten: no number is from another game.
 */

import { StationView, connect } from "../slpstream.js";

/**
 * @typedef {Record<string, any>} Message
 *
 * @typedef {object} FeedOptions
 * @property {(message: Message, view: StationView) => void} [onMessage]  After the view has taken the message.
 * @property {() => void} [onReset]       The log does not go on where it was.
 * @property {() => void} onChange        Draw in the next animation frame, not here.
 */

export class Feed {
  /** @type {Map<string, StationView>} */ #views = new Map();
  #client;
  #closed = false;

  /** @param {import("../slpstream.js").Subscription & import("../slpstream.js").ClientOptions & FeedOptions} options */
  constructor({ onMessage, onReset, onChange, ...subscription }) {
    const client = connect(subscription);
    this.#client = client;
    client.on("reset", (name) => {
      this.station(name).reset();
      onReset?.();
    });
    client.on("message", (/** @type {Message} */ message) => {
      if (message.station !== undefined && !this.#closed) {
        const view = this.station(message.station);
        view.take(message);
        onMessage?.(message, view);
      }
      onChange();
    });
    client.on("connection", () => {
      if (this.#closed) {
        client.close();
      }
      onChange();
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

  /**
   * The view of a station; empty until the daemon has said something.
   * @param {string} name
   */
  station(name) {
    let view = this.#views.get(name);
    if (view === undefined) {
      view = new StationView(name);
      this.#views.set(name, view);
    }
    return view;
  }

  /** The end. Browsers complain about a socket that is closed before it was open, so that is waited for. */
  close() {
    this.#closed = true;
    if (this.#client.connection !== "connecting") {
      this.#client.close();
    }
  }
}
