/**
 * Spreads frames that arrive in bursts, and shows frames that arrive one by one immediately. It reads no clock and does not
 * touch the page; callers pass the time in milliseconds of one clock.
 *
 * A frame is shown when it arrives, but not much sooner after the frame before it than in the game. So a burst is spread until
 * about the time of the next one, and a late frame delays hardly any other: the frames after it can follow a little faster.
 */

/** Waiting frames follow each other after this share of the time between them in the game. */
const CATCH_UP = 0.75;
/** The share for frames that have waited for longer than a burst lasts. */
const FAST_CATCH_UP = 0.4;
const BURST_MS = 250;
/** Maximum game time that waits. Older frames are left out. */
const MAX_WAITING_MS = 500;
/** Maximum time between two frames of which the second has arrived; frames in between may be missing. */
const MAX_BETWEEN_MS = 100;
/** A frame that is due within this time is shown with the present picture, not with the next. */
const EARLY_MS = 4;
/** Time between two pictures of most screens. */
const PICTURE_MS = 1000 / 60;

/** @typedef {Record<string, any> & {frame: number}} Frame */

export class Pacing {
  /** @type {Frame[]} */ #queue = [];
  #period = 1000 / 60;
  #newest = -Infinity;
  /** Number of the frame that was shown last, and when it was due, between two pictures. */
  #shown = -Infinity;
  #shownAt = -Infinity;

  /** Begins a game. @param {readonly [number, number]} rate  Frames per second, as a fraction. */
  begin([frames, seconds]) {
    this.#queue = [];
    this.#period = (1000 * seconds) / frames;
    this.#newest = -Infinity;
    this.#shown = -Infinity;
    this.#shownAt = -Infinity;
  }

  /** @param {Frame} frame */
  push(frame) {
    if (frame.frame <= this.#newest) {
      return; // repeated by a rollback; the next frame has its consequences
    }
    this.#newest = frame.frame;
    this.#queue.push(frame);
    while (this.#waiting() > MAX_WAITING_MS) {
      this.#queue.shift();
    }
  }

  /**
   * The frame that is due; `null` if no frame is due.
   * @param {number} now
   * @returns {Frame | null}
   */
  due(now) {
    const [next] = this.#queue;
    if (next === undefined) {
      return null;
    }
    const pace = this.#waiting() > BURST_MS ? FAST_CATCH_UP : CATCH_UP;
    const between = Math.min((next.frame - this.#shown) * this.#period * pace, MAX_BETWEEN_MS);
    const due = this.#shownAt + between;
    if (now + EARLY_MS < due) {
      return null;
    }
    this.#queue.shift();
    this.#shown = next.frame;
    this.#shownAt = Math.max(due, now - PICTURE_MS);
    return next;
  }

  /** The newest frame, due or not, once; `null` if it has been shown. */
  rest() {
    const frame = this.#queue.pop() ?? null;
    this.#queue = [];
    return frame;
  }

  /** Game time from the first to the last frame that waits, in milliseconds. */
  #waiting() {
    const first = this.#queue[0]?.frame ?? this.#newest;
    return (this.#newest - first) * this.#period;
  }
}
