/**
 * Shows frames paced by game time, although they come in bursts: a small jitter buffer. Knows no page and no clock: times
 * are handed in, in milliseconds of one clock.
 *
 * A log is a queue. A frame n is due at `base + n * period`; other messages are due with the frame before them, so events
 * come with their frames, and the result after the last one. `base` follows what arrives: frames wait as long as the latest
 * of the last two seconds did, but none longer than `MOST_BEHIND_MS`. So a steady stream is shown almost at once, a stream
 * in bursts of 85 ms is spread out evenly, and after a stall it catches up.
 *
 * `delay` comes before all this: messages count as having arrived that much later.
 */

/** No frame waits longer than this by itself. */
export const MOST_BEHIND_MS = 150;
const WINDOW_MS = 2000;
/** How fast `base` moves: a tenth of the time that passes. Nobody sees that. */
const SLEW = 0.1;
/** A page that is not drawn for long (hidden) keeps no more messages than these; what is older is taken at once. */
const MOST_QUEUED = 2000;
/**
 * On a screen with 60 Hz a frame is due about once per picture, sometimes a little before, sometimes a little after it. A
 * frame may be shown half a frame early and up to a whole one late, so that it does not come to none and two by turns.
 */
const EARLY_FRAMES = 0.5;
const LATE_FRAMES = 2;

/**
 * @typedef {Record<string, any>} Message
 * @typedef {{message: Message, at: number}} Waiting
 */

export class Playout {
  /** @type {(message: Message) => void} */ #show;
  /** Not arrived yet, because of the delay. @type {Waiting[]} */ #held = [];
  /** Arrived, not shown. @type {Waiting[]} */ #queue = [];
  /** When frames of the last two seconds arrived, as offsets: arrival - n * period. @type {{at: number, offset: number}[]} */
  #arrivals = [];
  /** @type {number | null} */ #base = null;
  /** @type {number | null} Number of the frame that is shown. */ #shown = null;
  /** The highest number that has arrived. */
  #newest = -Infinity;
  #gameId = "";
  #period = 1000 / 60;
  #now = 0;

  /**
   * @param {(message: Message) => void} show  Is given every message once, in their order, when it is time.
   * @param {number} [delayMs]
   */
  constructor(show, delayMs = 0) {
    this.#show = show;
    this.delayMs = delayMs;
  }

  /** Whether there is anything to come. */
  get busy() {
    return this.#held.length + this.#queue.length > 0;
  }

  /** How long the newest frame that has arrived will still wait; 0 without any. */
  get behindMs() {
    const newest = this.#queue.findLast?.(({ message }) => isFrame(message));
    return newest === undefined || this.#base === null ? 0 : Math.max(0, this.#due(newest) - this.#now);
  }

  /**
   * @param {Message} message
   * @param {number} now
   */
  push(message, now) {
    this.#held.push({ message, at: now + this.delayMs });
    while (this.#held.length > MOST_QUEUED && this.#held[0].at - now < this.delayMs / 2) {
      this.#arrive(/** @type {Waiting} */ (this.#held.shift()));
    }
    while (this.#queue.length > MOST_QUEUED) {
      this.#next();
    }
  }

  /**
   * Shows what is due. True when there was anything.
   * @param {number} now
   */
  advance(now) {
    while (this.#held.length > 0 && this.#held[0].at <= now) {
      this.#arrive(/** @type {Waiting} */ (this.#held.shift()));
    }
    this.#moveBase(now);
    const through = this.#through(now);
    let any = false;
    while (this.#queue.length > 0 && this.#isDue(this.#queue[0].message, through)) {
      this.#next();
      any = true;
    }
    return any;
  }

  /** @param {Waiting} waiting */
  #arrive(waiting) {
    const { message, at } = waiting;
    if (message.type === "game_start" || message.type === "snapshot") {
      this.#begin(message);
    }
    this.#queue.push(waiting);
    // What a rollback sends again was there in time.
    if (isFrame(message) && message.gameId === this.#gameId && message.frame.frame > this.#newest) {
      this.#newest = message.frame.frame;
      const offset = at - this.#newest * this.#period;
      this.#arrivals.push({ at, offset });
      while (this.#arrivals[0].at < at - WINDOW_MS) {
        this.#arrivals.shift();
      }
      this.#base = this.#base === null ? offset : Math.min(this.#base, offset + MOST_BEHIND_MS);
    }
  }

  /**
   * Another game: what is left of the one before is shown at once.
   * @param {Message} message
   */
  #begin(message) {
    while (this.#queue.length > 0) {
      this.#next();
    }
    const [frames, seconds] = message.rate ?? [60, 1];
    this.#period = (1000 * seconds) / frames;
    this.#gameId = message.gameId;
    this.#arrivals = [];
    this.#base = null;
    this.#shown = message.frame?.frame ?? null;
    this.#newest = this.#shown ?? -Infinity;
  }

  /** @param {number} now */
  #moveBase(now) {
    const passed = Math.max(0, now - this.#now);
    this.#now = now;
    if (this.#base === null) {
      return;
    }
    let wanted = -Infinity;
    for (const { offset } of this.#arrivals) {
      wanted = Math.max(wanted, offset);
    }
    const newest = this.#arrivals[this.#arrivals.length - 1].offset;
    const difference = Math.min(wanted, newest + MOST_BEHIND_MS) - this.#base;
    // After a pause of the game all is later than ever before: that is no jitter.
    const step = Math.abs(difference) > 2 * MOST_BEHIND_MS ? Infinity : SLEW * passed;
    this.#base += Math.max(-step, Math.min(step, difference));
  }

  /**
   * The number of the last frame to show now.
   * @param {number} now
   */
  #through(now) {
    if (this.#base === null) {
      return this.#shown ?? -Infinity;
    }
    const position = (now - this.#base) / this.#period;
    if (this.#shown === null) {
      return Math.floor(position + EARLY_FRAMES);
    }
    const ahead = position - this.#shown;
    return ahead < EARLY_FRAMES ? this.#shown : ahead < LATE_FRAMES ? this.#shown + 1 : Math.floor(position);
  }

  /**
   * @param {Message} message
   * @param {number} through
   */
  #isDue(message, through) {
    return !isFrame(message) || message.gameId !== this.#gameId || message.frame.frame <= through;
  }

  /** @param {Waiting} waiting */
  #due({ message }) {
    return /** @type {number} */ (this.#base) + message.frame.frame * this.#period;
  }

  /** Shows the oldest of the queue. After a rollback, frames before the one that is shown are the past: they are left out. */
  #next() {
    const { message } = /** @type {Waiting} */ (this.#queue.shift());
    if (isFrame(message) && message.gameId === this.#gameId) {
      if (this.#shown !== null && message.frame.frame < this.#shown) {
        return;
      }
      this.#shown = message.frame.frame;
    }
    this.#show(message);
  }
}

/** @param {Message} message */
function isFrame(message) {
  return message.type === "frame";
}
