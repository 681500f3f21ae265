/**
 * The state of a station as a function of the messages received: the game, its history, combos, moments, the set, and the
 * phase. All scenes of a station draw from it. It does not touch the page.
 */

import { PercentHistory } from "../match.js";
import { scoreOf, setOf } from "../set_score.js";
import { StationView } from "../slpstream.js";
import { canShow } from "./people.js";

/**
 * @typedef {Record<string, any>} Message
 * @typedef {import("../slippi.js").Player} Player
 *
 * @typedef {"waiting" | "playing" | "result" | "between"} Phase  After a game: `result` for a while, then `between`.
 *
 * @typedef {object} Shown      The content of a scene: the players of the game, or those of the set without one.
 * @property {Phase} phase
 * @property {import("../slpstream.js").Game | null} game
 * @property {import("../slpstream_types.js").SetScore | null} set  That of the game, if there is one.
 *
 * @typedef {object} ShownCombo
 * @property {number} attacker  Player index.
 * @property {number} hits
 * @property {number} damage    In percent.
 * @property {number} frame     Frame of the last change.
 * @property {boolean} ended
 *
 * @typedef {object} Moment    Something that a player's card calls out for a while.
 * @property {"ko" | "stock"} kind  `ko` for the player who took the stock, `stock` for the one who lost it.
 * @property {number} at       When it was shown first, in milliseconds.
 * @property {number} count    Number of moments of this player before it.
 * @property {number | null} moveId
 * @property {number | null} percent
 */

/** How long a moment stays. */
export const MOMENT_MS = 2200;
/** How long an ended combo stays visible. */
const COMBO_HOLD_FRAMES = 75;
/** A single hit is not a combo. */
const MIN_HITS = 2;

export class SceneState {
  /** By index of the player who is hit. @type {Map<number, ShownCombo>} */ #combos = new Map();
  /** By player index. @type {Map<number, Moment>} */ #moments = new Map();
  #holdMs;
  #endedAt = 0;
  /** Percent over time of the game, as far as it was seen. */
  history = new PercentHistory();

  /**
   * @param {string} station
   * @param {number} holdMs  How long the result of a game stays.
   */
  constructor(station, holdMs) {
    this.view = new StationView(station);
    this.#holdMs = holdMs;
    this.connection = "connecting";
    this.problem = "";
    /** Whether the page follows the station on air, and no station is. */
    this.nothingOnAir = false;
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
        this.#forgetGame();
        return;
      case "on_air":
        this.nothingOnAir = message.station === null;
        if (message.station !== this.view.station) {
          this.view = new StationView(message.station ?? "");
          this.#forgetGame();
        }
        return;
      case "game_start":
      case "snapshot":
        this.#forgetGame();
        break;
      case "game_end":
        this.#endedAt = now;
        break;
      case "event":
        this.#takeEvent(message, now);
        break;
    }
    this.view.take(message);
  }

  /**
   * The content at a moment. Between games it is the set, so that it does not depend on whether the page was open during the
   * last game.
   * @param {number} now  Milliseconds.
   * @returns {Shown}
   */
  shown(now) {
    const { set } = this.view;
    const isPlaying = this.view.game !== null && this.view.game.end === null;
    const game = canShow(this.view.game) ? this.view.game : null;
    /** @type {Shown} */
    const nothing = { phase: "waiting", game: null, set: null };
    if (isPlaying) {
      return game === null ? nothing : { phase: "playing", game, set: setOf(game, set) };
    }
    if (this.announced === null && game !== null && now - this.#endedAt < this.#holdMs) {
      return { phase: "result", game, set: setOf(game, set) };
    }
    if (set === null || set.players.some(({ port }) => port === undefined)) {
      return game === null ? nothing : { phase: "between", game, set }; // only the game has the ports of the players
    }
    const isKnown = set.players.length > 0 && (set.state !== "upcoming" || this.announced !== null);
    return isKnown ? { phase: "between", game: null, set } : nothing;
  }

  /**
   * When the phase ends by itself, in milliseconds; `null` if only a message can end it.
   * @param {number} now
   */
  phaseEndsAt(now) {
    return this.shown(now).phase === "result" ? this.#endedAt + this.#holdMs : null;
  }

  /**
   * When something changes by itself, in milliseconds: the phase, or the end of a moment. `null` if nothing does.
   * @param {number} now
   */
  changesAt(now) {
    const times = [...this.#moments.values()].map(({ at }) => at + MOMENT_MS).filter((at) => at > now);
    const phase = this.phaseEndsAt(now);
    return phase === null && times.length === 0 ? null : Math.min(phase ?? Infinity, ...times);
  }

  /**
   * The current moment of a player, or `null`.
   * @param {number} index
   * @param {number} now
   */
  moment(index, now) {
    const moment = this.#moments.get(index);
    return moment !== undefined && now - moment.at < MOMENT_MS ? moment : null;
  }

  /**
   * Whether a player's side wins the set with the next game.
   * @param {Player} player
   */
  hasSetPoint(player) {
    const { set } = this.view;
    const score = scoreOf(set, player);
    const needed = set?.winsNeeded ?? (set?.bestOf === undefined ? null : Math.floor(set.bestOf / 2) + 1);
    return score !== null && needed !== null && needed > 1 && score === needed - 1 && set?.state !== "over";
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

  /** The next set, if the operator or the players have named its players before its first game; otherwise `null`. */
  get announced() {
    const { set } = this.view;
    return set?.state === "upcoming" && set.players.some(({ name }) => name) ? set : null;
  }

  /** The id of the last finished game; `null` if the page does not know one. */
  get lastGameId() {
    const { game, set } = this.view;
    const finished = (set?.games ?? []).filter(({ verdict }) => verdict !== "playing" && verdict !== "unfinished");
    return game?.end ? game.gameId : (finished[finished.length - 1]?.gameId ?? null);
  }

  #forgetGame() {
    this.#combos.clear();
    this.#moments.clear();
    this.history = new PercentHistory();
  }

  /**
   * @param {Message} message
   * @param {number} now
   */
  #takeEvent(message, now) {
    const { kind, gameId, frame, playerIndex, combo, conversion } = message;
    if (gameId !== this.view.game?.gameId) {
      return;
    }
    this.history.take(message);
    if (kind === "stock_lost" || kind === "fall") {
      this.#addMoment(playerIndex, "stock", now, null, (message.stock ?? message.life)?.endPercent ?? null);
    }
    if (kind === "conversion_ended" && conversion?.didKill && !this.#areTeammates(conversion.lastHitBy, playerIndex)) {
      const { lastHitBy = -1, moves = [], endPercent = null } = conversion;
      this.#addMoment(lastHitBy, "ko", now, moves[moves.length - 1]?.moveId ?? null, endPercent);
    }
    if (!["combo_started", "combo_extended", "combo_ended"].includes(kind)) {
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
   * @param {number} index
   * @param {Moment["kind"]} kind
   * @param {number} now
   * @param {number | null} moveId
   * @param {number | null} percent
   */
  #addMoment(index, kind, now, moveId, percent) {
    const count = (this.#moments.get(index)?.count ?? 0) + 1;
    this.#moments.set(index, { kind, at: now, count, moveId, percent });
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
