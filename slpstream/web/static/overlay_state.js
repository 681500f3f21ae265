/**
 * The state of the overlay as a function of the messages received: the game, combos, the score, and the phase. It does not
 * touch the page.
 */

import { scoreOf } from "./set_score.js";
import { StationView } from "./slpstream.js";

/**
 * @typedef {Record<string, any>} Message
 * @typedef {import("./slippi.js").Player} Player
 *
 * @typedef {"waiting" | "playing" | "result" | "between"} Phase  After a game: `result` for a while, then `between`.
 *
 * @typedef {object} ShownCombo
 * @property {number} attacker  Player index.
 * @property {number} hits
 * @property {number} damage    In percent.
 * @property {number} frame     Frame of the last change.
 * @property {boolean} ended
 */

/** How long an ended combo stays visible. */
const COMBO_HOLD_FRAMES = 75;
/** A single hit is not a combo. */
const MIN_HITS = 2;

export class OverlayState {
  /** By index of the player who is hit. @type {Map<number, ShownCombo>} */ #combos = new Map();
  #holdMs;
  #endedAt = 0;

  /**
   * @param {string} station
   * @param {number} holdMs  How long the result of a game stays.
   */
  constructor(station, holdMs) {
    this.view = new StationView(station);
    this.#holdMs = holdMs;
    this.connection = "connecting";
    this.problem = "";
  }

  /**
   * Processes a message of the daemon, or one of the page's own: `connection` and `reset`.
   * @param {Message} message
   * @param {number} now  Milliseconds.
   */
  take(message, now) {
    switch (message.type) {
      case "connection":
        this.connection = message.connection;
        this.problem = message.problem;
        return;
      case "reset":
        this.view.reset();
        this.#combos.clear();
        return;
      case "game_start":
      case "snapshot":
        this.#combos.clear();
        break;
      case "game_end":
        this.#endedAt = now;
        break;
      case "event":
        this.#takeEvent(message);
        break;
    }
    this.view.take(message);
  }

  /**
   * @param {number} now  Milliseconds.
   * @returns {Phase}
   */
  phase(now) {
    const { game } = this.view;
    if (game === null) {
      return "waiting";
    }
    if (game.end === null) {
      return "playing";
    }
    return now - this.#endedAt < this.#holdMs ? "result" : "between";
  }

  /**
   * When the phase ends by itself, in milliseconds; `null` if only a message can end it.
   * @param {number} now
   */
  phaseEndsAt(now) {
    return this.phase(now) === "result" ? this.#endedAt + this.#holdMs : null;
  }

  /**
   * The current or just ended combo of a player, or `null`.
   * @param {number} attacker  Player index.
   */
  combo(attacker) {
    const frame = this.view.game?.frame ?? -Infinity;
    /** @type {ShownCombo | null} */
    let newest = null;
    for (const combo of this.#combos.values()) {
      const over = combo.ended && frame > combo.frame + COMBO_HOLD_FRAMES;
      if (combo.attacker === attacker && combo.hits >= MIN_HITS && !over && combo.frame >= (newest?.frame ?? -Infinity)) {
        newest = combo;
      }
    }
    return newest;
  }

  /**
   * Games won in this set; `null` if unknown.
   * @param {Player} player
   * @returns {number | null}
   */
  score(player) {
    return scoreOf(this.view.set, player);
  }

  /** The coming set, if the operator has named its players before its first game; otherwise `null`. */
  get announced() {
    const { game, set } = this.view;
    return game === null && set?.players.some(({ namedByOperator }) => namedByOperator) ? set : null;
  }

  /** @param {Message} message */
  #takeEvent({ kind, gameId, frame, playerIndex, combo }) {
    if (gameId !== this.view.game?.gameId || !["combo_started", "combo_extended", "combo_ended"].includes(kind)) {
      return;
    }
    const moves = /** @type {Message[]} */ (combo.moves).filter((move) => !this.#areTeammates(move.playerIndex, playerIndex));
    this.#combos.set(playerIndex, {
      attacker: moves[0]?.playerIndex ?? combo.lastHitBy,
      hits: moves.reduce((sum, move) => sum + move.hitCount, 0),
      damage: moves.reduce((sum, move) => sum + move.damage, 0),
      frame,
      ended: kind === "combo_ended",
    });
  }

  /**
   * @param {number} one
   * @param {number} other
   */
  #areTeammates(one, other) {
    const { isTeams, players = [] } = this.view.game?.settings ?? {};
    const team = (/** @type {number} */ index) =>
      players.find((/** @type {Message} */ player) => player.playerIndex === index)?.teamId;
    return isTeams && team(one) === team(other);
  }
}
