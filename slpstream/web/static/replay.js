/**
 * Playback of a game from any position, which `<stage-view>` can show instead of a live `Match`. The view advances it with
 * each animation frame.
 */

import { FIRST_FRAME, Recording } from "./recording.js";
import { FIELDS, stageOutline } from "./slippi.js";

/**
 * @typedef {import("./slpstream.js").Game} Game
 * @typedef {Record<string, any>} Frame
 *
 * @typedef {object} ReplayOptions
 * @property {(path: string) => Promise<{status: number, body: Record<string, any>}>} get
 * @property {() => Game} game           The current state of the game.
 * @property {() => number} last         The last frame of the game so far.
 * @property {() => void} onChange
 * @property {() => void} onEnd          Called when the last frame has been played.
 * @property {Frame | null} shown        Frame to show until the first one is loaded.
 */

/** The fields of a frame that the stage view needs, in addition to percent and stocks. */
export const STAGE_FIELDS = Object.freeze([
  "post.positionX",
  "post.positionY",
  "post.facingDirection",
  "post.actionStateId",
  "post.isAirborne",
  "post.shieldSize",
  "post.currentComboCount",
  "post.lastHitBy",
  "items",
  "stageEvents",
]);

/** How far back to search for the height of a platform. */
const PLATFORM_FRAMES = 600;

export class Replay {
  playing = true;
  speed = 1;
  #game;
  #recording;
  #last;
  #onChange;
  #onEnd;
  #at;
  #shown;

  /**
   * @param {ReplayOptions} options
   * @param {number} at  The first frame that is shown.
   */
  constructor({ get, game, last, onChange, onEnd, shown }, at) {
    this.#game = game;
    this.gameId = game().gameId;
    this.#recording = new Recording(get, this.gameId, [...FIELDS, ...STAGE_FIELDS], onChange);
    this.#last = last;
    this.#onChange = onChange;
    this.#onEnd = onEnd;
    this.#shown = shown;
    this.#at = FIRST_FRAME;
    this.seek(at);
  }

  /** The position, as a frame number. */
  get at() {
    return Math.floor(this.#at);
  }

  /** Whether the daemon lacks the frames of this game. */
  get missing() {
    return this.#recording.missing;
  }

  /** Whether the frame at the position is not loaded yet. */
  get waiting() {
    return !this.#recording.knows(this.at);
  }

  get frames() {
    return this.#recording.frames;
  }

  /** The state of the game at the position. @returns {Game} */
  get game() {
    const frame = this.#shown;
    const game = this.#game();
    const indexes = (game.settings.players ?? []).map((/** @type {any} */ player) => player.playerIndex);
    const entry = (/** @type {number} */ index) => frame?.players?.[index] ?? { post: { stocksRemaining: 0 } };
    const players = new Map(frame === null ? [] : indexes.map((/** @type {number} */ index) => [index, entry(index)]));
    return { ...game, end: null, frame: frame?.frame ?? null, players, scores: null }; // the scores are those at the end
  }

  /** Heights of the moving platforms, from the newest stage events up to the position. */
  get platformHeights() {
    const heights = new Map();
    const moving = stageOutline(this.#game())?.platforms.filter(({ id }) => id !== undefined) ?? [];
    for (let i = this.at; i > this.at - PLATFORM_FRAMES && heights.size < moving.length; i--) {
      for (const event of this.frames.get(i)?.stageEvents ?? []) {
        if (event.kind === "fod_platform" && event.height !== undefined && !heights.has(event.platform)) {
          heights.set(event.platform, event.height);
        }
      }
    }
    return heights;
  }

  /** @param {number} number */
  seek(number) {
    this.#at = Math.min(Math.max(number, FIRST_FRAME), this.#last());
    this.#recording.want(this.at, this.#last());
    this.#onChange();
  }

  /**
   * Advances the position, unless frames are still loading.
   * @param {number} milliseconds
   * @returns {Frame | null} The frame to show.
   */
  play(milliseconds) {
    const last = this.#last();
    if (this.playing && !this.waiting) {
      const [numerator, denominator] = this.#game().rate;
      const next = this.#at + (milliseconds / 1000) * (numerator / denominator) * this.speed;
      if (next >= last) {
        this.#at = last;
        this.#onEnd();
      } else if (this.#recording.knows(Math.floor(next))) {
        this.#at = next;
      }
      this.#onChange();
    }
    this.#recording.want(this.at, last);
    if (!this.waiting) {
      this.#shown = this.#recording.at(this.at) ?? this.#shown;
    }
    return this.#shown;
  }
}
