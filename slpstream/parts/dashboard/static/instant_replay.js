/**
 * Connects a stage view and a replay bar. The stage shows the live `Match` or a `Replay` of the same game, during which live
 * messages are still received. A finished game has only the replay.
 */

import { FIRST_FRAME } from "../recording.js";
import { Replay } from "../replay.js";
import { timerStart } from "../slippi.js";

/**
 * @typedef {import("../match.js").Match} Match
 * @typedef {import("./replay_bar.js").ReplayBar} ReplayBar
 * @typedef {import("../stage_view.js").StageView} StageView
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {import("../replay.js").ReplayOptions["get"]} Get
 *
 * @typedef {object} Parts
 * @property {StageView} stage
 * @property {ReplayBar} bar
 * @property {Match | null} live  `null` for a finished game.
 * @property {() => void} onChange
 * @property {() => void} [onLive]  Called when the user returns to the live game.
 */

const SLOW_SPEED = 0.5;

export class InstantReplay {
  #stage;
  #bar;
  #live;
  #onChange;
  #onLive;
  /** @type {Get | null} */ #get = null;
  /** The game on the stage. @type {Game | null} */ #game = null;
  #first = FIRST_FRAME;
  #last = FIRST_FRAME;
  /** The last frame of the moment that is being played; otherwise infinite. */
  #until = Infinity;
  /** @type {Replay | null} */ #replay = null;

  /** @param {Parts} parts */
  constructor({ stage, bar, live, onChange, onLive = () => {} }) {
    this.#stage = stage;
    this.#bar = bar;
    this.#live = live;
    this.#onChange = onChange;
    this.#onLive = onLive;
    stage.match = live;
    bar.actions = {
      move: (frames) => this.#seek(this.#position + frames),
      seek: (frame) => this.#seek(frame),
      playOrPause: () => this.#playOrPause(),
      changeSpeed: () => this.#changeSpeed(),
      live: () => this.#goLive(),
    };
  }

  /** The state of the game at the displayed position; `null` while it is live. */
  get game() {
    return this.#replay?.game ?? null;
  }

  /** Whether a replay was opened whose frame has not arrived yet. */
  get isLoading() {
    return this.#replay !== null && this.#replay.waiting && !this.#replay.missing;
  }

  /**
   * Plays a moment of the game on the stage.
   * @param {number} first
   * @param {number} last
   */
  playMoment(first, last) {
    this.#until = Infinity;
    const replay = this.#replay ?? this.#open(first);
    replay.seek(Math.max(first, this.#first));
    replay.playing = true;
    this.#until = last;
  }

  #goLive() {
    this.#close();
    this.#onLive();
    this.#onChange();
  }

  /** Shows the live game again, if there is one. */
  #close() {
    this.#until = Infinity;
    if (this.#live !== null && this.#replay !== null) {
      this.#replay = null;
      this.#stage.match = this.#live;
    }
  }

  /**
   * @param {Game | null} game  The game on the stage.
   * @param {number} last       Its last frame so far.
   * @param {Get} get
   * @param {Record<string, any> | null} stats  Its stats so far.
   */
  draw(game, last, get, stats) {
    this.#get = get;
    this.#game = game;
    this.#first = FIRST_FRAME + timerStart(stats);
    this.#last = last;
    const available = game !== null && last > this.#first && !(this.#live === null && this.#replay?.missing);
    if (this.#replay !== null && this.#replay.gameId !== game?.gameId) {
      this.#close(); // another game is on the stage
    }
    if (this.#live === null && this.#replay === null && available) {
      this.#open(this.#first).playing = false;
    }
    this.#bar.hidden = !available;
    if (!available) {
      return;
    }
    const replay = this.#replay;
    const [numerator, denominator] = game.rate;
    this.#bar.show({
      first: this.#first,
      last,
      at: replay?.at ?? last,
      playing: replay === null ? game.end === null : replay.playing,
      speed: replay?.speed ?? 1,
      live: this.#live === null ? null : replay === null,
      waiting: replay?.waiting ?? false,
      framesPerSecond: Math.round(numerator / denominator),
    });
  }

  get #position() {
    return this.#replay?.at ?? Math.min(this.#last, this.#stage.frame?.frame ?? this.#last);
  }

  /** @param {number} at */
  #open(at) {
    const opened = /** @type {Game} */ (this.#game);
    const replay = new Replay(
      {
        get: (path) => /** @type {Get} */ (this.#get)(path),
        game: () => this.#game ?? opened,
        last: () => Math.min(this.#last, this.#until),
        onChange: this.#onChange,
        onEnd: () => this.#onEnd(replay),
        shown: this.#stage.frame,
      },
      at,
    );
    this.#replay = replay;
    this.#stage.match = replay;
    return replay;
  }

  /** @param {number} frame */
  #seek(frame) {
    if (this.#game === null) {
      return;
    }
    this.#until = Infinity;
    if (this.#live !== null && this.#game.end === null && frame >= this.#last) {
      this.#goLive();
    } else if (this.#replay === null) {
      if (frame < this.#last) {
        this.#open(frame);
      }
    } else {
      this.#replay.seek(frame);
    }
  }

  #playOrPause() {
    if (this.#game === null) {
      return;
    }
    this.#until = Infinity;
    if (this.#replay === null) {
      const over = this.#game.end !== null;
      this.#open(over ? this.#first : this.#position).playing = over;
    } else {
      if (!this.#replay.playing && this.#replay.at >= this.#last) {
        this.#replay.seek(this.#first);
      }
      this.#replay.playing = !this.#replay.playing;
    }
    this.#onChange();
  }

  #changeSpeed() {
    if (this.#game === null) {
      return;
    }
    const replay = this.#replay ?? this.#open(this.#position);
    replay.speed = replay.speed === 1 ? SLOW_SPEED : 1;
    this.#onChange();
  }

  /** @param {Replay} replay */
  #onEnd(replay) {
    this.#until = Infinity;
    if (this.#game?.end === null) {
      this.#goLive();
    } else {
      replay.playing = false;
    }
  }
}
