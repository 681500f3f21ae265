/**
 * What the overlay shows, as a function of the messages that it was shown: the game, running combos, score, and which of
 * four things there is to look at. Knows no page.
 */

import { scoreOf } from "./set_score.js";
import { StationView } from "./slpstream.js";

/**
 * @typedef {Record<string, any>} Message
 * @typedef {import("./slippi.js").Player} Player
 *
 * @typedef {"waiting" | "playing" | "result" | "between"} Phase  `result`: the last one, for a set time; then `between`.
 *
 * @typedef {object} ShownCombo
 * @property {number} attacker  Player index.
 * @property {number} hits
 * @property {number} damage    In percent.
 * @property {number} frame     Of the last change.
 * @property {boolean} ended
 */

/** An ended combo can still be read for so long. */
const COMBO_STAYS_FRAMES = 75;
/** One hit is none. */
const FEWEST_HITS = 2;

export class OverlayState {
  /** By index of who is hit. @type {Map<number, ShownCombo>} */ #combos = new Map();
  #holdMs;
  #endedAt = 0;

  /**
   * @param {string} station
   * @param {number} holdMs  How long the last result stays.
   */
  constructor(station, holdMs) {
    this.view = new StationView(station);
    this.#holdMs = holdMs;
    this.connection = "connecting";
    this.problem = "";
  }

  /**
   * A message of the daemon, or of our own: `connection` and `reset`, which belong between them.
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
   * When the phase ends by itself, in milliseconds; `null` when only a message ends it.
   * @param {number} now
   */
  phaseEndsAt(now) {
    return this.phase(now) === "result" ? this.#endedAt + this.#holdMs : null;
  }

  /**
   * The combo that a player has going, or has just ended; `null` without.
   * @param {number} attacker  Player index.
   */
  combo(attacker) {
    const frame = this.view.game?.frame ?? -Infinity;
    /** @type {ShownCombo | null} */
    let newest = null;
    for (const combo of this.#combos.values()) {
      const over = combo.ended && frame > combo.frame + COMBO_STAYS_FRAMES;
      if (combo.attacker === attacker && combo.hits >= FEWEST_HITS && !over && combo.frame >= (newest?.frame ?? -Infinity)) {
        newest = combo;
      }
    }
    return newest;
  }

  /**
   * Games won in this set; `null` when nobody says. Players of a set are known by their index, port, connect code or name.
   * @param {Player} player
   * @returns {number | null}
   */
  score(player) {
    return scoreOf(this.view.set, player);
  }

  /** The set, when it has to be shown though there is no game of it yet: the operator has named those who come next. */
  get announced() {
    const { game, set } = this.view;
    return game === null && set?.players.some(({ namedByOperator }) => namedByOperator) ? set : null;
  }

  /** @param {Message} message */
  #takeEvent({ kind, gameId, frame, playerIndex, combo }) {
    if (gameId !== this.view.game?.gameId || !["combo_started", "combo_extended", "combo_ended"].includes(kind)) {
      return;
    }
    const moves = /** @type {Message[]} */ (combo.moves).filter((move) => !this.#areTeam(move.playerIndex, playerIndex));
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
  #areTeam(one, other) {
    const { isTeams, players = [] } = this.view.game?.settings ?? {};
    const team = (/** @type {number} */ index) =>
      players.find((/** @type {Message} */ player) => player.playerIndex === index)?.teamId;
    return isTeams && team(one) === team(other);
  }
}
