/** A finished game with its stats. The requests are repeated until the daemon answers. */

import { Status } from "../api.js";
import { PercentHistory } from "../match.js";
import { text } from "../texts/texts.js";
import { gameAtEnd } from "./listed_game.js";

/** @typedef {import("./daemon.js").Daemon} Daemon */

const RETRY_MS = 3000;

export class FinishedGame {
  #onChange;
  #requested = false;
  /** As `/v1/games/{gameId}` describes it; `null` until then. @type {Record<string, any> | null} */
  item = null;
  /** `null` until they arrive, and if the daemon has none. @type {Record<string, any> | null} */
  stats = null;
  /** The problem in words; empty without one. */
  note = "";

  /**
   * @param {string} gameId
   * @param {() => void} onChange
   */
  constructor(gameId, onChange) {
    this.gameId = gameId;
    this.#onChange = onChange;
  }

  /** Asks for the game, unless it was asked for. @param {Daemon} daemon */
  load(daemon) {
    if (!this.#requested) {
      this.#requested = true;
      this.#load(daemon);
    }
  }

  /** @param {Daemon} daemon */
  async #load(daemon) {
    const path = `v1/games/${encodeURIComponent(this.gameId)}`;
    try {
      const [item, stats] = await Promise.all([daemon.api.get(path), daemon.api.get(`${path}/stats`)]);
      this.item = item.status === Status.OK ? item.body : null;
      this.stats = stats.status === Status.OK ? (stats.body.stats ?? stats.body) : null;
      this.note = item.status !== Status.OK ? item.body.detail : stats.status === Status.OK ? "" : text("detail.no_stats");
    } catch {
      this.note = text("detail.no_response");
      setTimeout(() => (this.#requested = false), RETRY_MS);
    }
    this.#onChange();
  }

  /** The game as a live one that has ended; `null` until it has arrived. */
  get match() {
    const { item, stats } = this;
    if (item === null) {
      return null;
    }
    const history = stats === null ? new PercentHistory() : PercentHistory.fromStats(stats);
    return { gameId: this.gameId, game: gameAtEnd(item, stats), stats, history, durationSeconds: item.durationSeconds ?? 0 };
  }
}
