/**
 * One game, played from any place of it: what `<stage-view>` shows instead of a live `Match`. Time passes as the view draws.
 */

import { FIELDS, stageOutline } from "../slippi.js";
import { FIRST_FRAME, Recording } from "./recording.js";

/**
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {Record<string, any>} Frame
 *
 * @typedef {object} ReplayOptions
 * @property {(path: string) => Promise<{status: number, body: Record<string, any>}>} ask
 * @property {() => Game} game           As it is by now.
 * @property {readonly string[]} fields  What the stage view needs of a frame.
 * @property {() => number} last         The last frame of the game so far.
 * @property {() => void} onChange
 * @property {() => void} onEnd          Played to the last frame.
 * @property {Frame | null} shown        What is to be seen until the first frame is there.
 */

/** How far back the newest height of a platform is looked for. */
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
  constructor({ ask, game, fields, last, onChange, onEnd, shown }, at) {
    this.#game = game;
    this.gameId = game().gameId;
    this.#recording = new Recording(ask, this.gameId, [...FIELDS, ...fields], onChange);
    this.#last = last;
    this.#onChange = onChange;
    this.#onEnd = onEnd;
    this.#shown = shown;
    this.#at = FIRST_FRAME;
    this.seek(at);
  }

  /** The place, as a frame number. */
  get at() {
    return Math.floor(this.#at);
  }

  /** The daemon has no frames of this game. */
  get missing() {
    return this.#recording.missing;
  }

  /** Nothing can be shown of the place yet. */
  get waiting() {
    return !this.#recording.knows(this.at);
  }

  get frames() {
    return this.#recording.frames;
  }

  /** The game as it was. @returns {Game} */
  get game() {
    const frame = this.#shown;
    const game = this.#game();
    const indexes = (game.settings.players ?? []).map((/** @type {any} */ player) => player.playerIndex);
    const entry = (/** @type {number} */ index) => frame?.players?.[index] ?? { post: { stocksRemaining: 0 } };
    const players = new Map(frame === null ? [] : indexes.map((/** @type {number} */ index) => [index, entry(index)]));
    return { ...game, end: null, frame: frame?.frame ?? null, players };
  }

  /** Heights of the platforms that move, from the newest stage events up to the place. */
  get platformHeights() {
    const heights = new Map();
    const moving = stageOutline(this.#game())?.platforms.filter(({ id }) => id !== undefined) ?? [];
    for (let i = this.at; i > this.at - PLATFORM_FRAMES && heights.size < moving.length; i--) {
      for (const event of this.frames.get(i)?.stageEvents ?? []) {
        if (event.kind === "fod_platform" && !heights.has(event.platform)) {
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
   * Time passes. What is not here yet is waited for.
   * @param {number} milliseconds
   * @returns {Frame | null} What is to be seen.
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
