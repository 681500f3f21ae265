/**
 * A small jitter buffer: plays frames at the pace of the game, although they arrive in bursts. It does not touch the page
 * and reads no clock; callers pass the time in milliseconds of one clock.
 *
 * The log is a queue. Frame n is due at `base + n * period`. Other messages are due with the frame before them, so events are
 * shown with their frames, and the result after the last one. `base` follows the arrivals: it is late enough for the latest
 * frame of the last two seconds, within `MAX_BUFFER_MS`. A steady stream is therefore shown almost immediately, a stream in
 * bursts of 85 ms is spread out evenly, and after a stall the playout catches up.
 *
 * `delayMs` is added first: messages count as having arrived that much later.
 */

/** Maximum time that a frame is held back, in addition to the delay. */
export const MAX_BUFFER_MS = 150;
const WINDOW_MS = 2000;
/** Frames can be shown half a frame early (see below), so they should arrive this much before they are due. */
const MARGIN_MS = 10;
/** Speed of `base`: a tenth of the elapsed time, which is not visible. */
const SLEW = 0.1;
/** Maximum number of queued messages while a page is hidden. Older messages are shown immediately. */
const MAX_QUEUED = 2000;
/**
 * On a 60 Hz screen one frame is due per animation frame, sometimes shortly before it and sometimes shortly after it.
 * Without this tolerance, no frame and two frames would be shown in turns.
 */
const EARLY_FRAMES = 0.5;
const LATE_FRAMES = 2;

/**
 * @typedef {Record<string, any>} Message
 * @typedef {{message: Message, at: number}} Arrival  `at`: time of arrival, including the delay.
 */

export class Playout {
  /** @type {(message: Message) => void} */ #show;
  /** Messages that are delayed. @type {Arrival[]} */ #delayed = [];
  /** Messages that have arrived but are not shown yet. @type {Arrival[]} */ #queue = [];
  /** Arrivals of frames in the last two seconds; `offset` is `at - n * period`. @type {{at: number, offset: number}[]} */
  #arrivals = [];
  /** @type {number | null} */ #base = null;
  /** Number of the displayed frame. @type {number | null} */ #shown = null;
  /** The highest frame number that has arrived. */
  #newest = -Infinity;
  #gameId = "";
  #period = 1000 / 60;
  #now = 0;

  /**
   * @param {(message: Message) => void} show  Called with each message once, in order, when it is due.
   * @param {number} [delayMs]
   */
  constructor(show, delayMs = 0) {
    this.#show = show;
    this.delayMs = delayMs;
  }

  /** Whether messages are waiting. */
  get busy() {
    return this.#delayed.length + this.#queue.length > 0;
  }

  /**
   * @param {Message} message
   * @param {number} now
   */
  push(message, now) {
    this.#delayed.push({ message, at: now + this.delayMs });
    while (this.#delayed.length > MAX_QUEUED && this.#delayed[0].at - now < this.delayMs / 2) {
      this.#arrive(/** @type {Arrival} */ (this.#delayed.shift()));
    }
    while (this.#queue.length > MAX_QUEUED) {
      this.#next();
    }
  }

  /**
   * Shows the messages that are due. Returns whether there were any.
   * @param {number} now
   */
  advance(now) {
    while (this.#delayed.length > 0 && this.#delayed[0].at <= now) {
      this.#arrive(/** @type {Arrival} */ (this.#delayed.shift()));
    }
    this.#moveBase(now);
    const through = this.#through(now);
    let shown = false;
    while (this.#queue.length > 0 && this.#isDue(this.#queue[0].message, through)) {
      this.#next();
      shown = true;
    }
    return shown;
  }

  /** @param {Arrival} arrival */
  #arrive(arrival) {
    const { message, at } = arrival;
    if (message.type === "game_start" || message.type === "snapshot") {
      this.#begin(message);
    }
    this.#queue.push(arrival);
    // Frames repeated by a rollback do not tell how late the stream is.
    if (isFrame(message) && message.gameId === this.#gameId && message.frame.frame > this.#newest) {
      this.#newest = message.frame.frame;
      const offset = at - this.#newest * this.#period;
      this.#arrivals.push({ at, offset });
      while (this.#arrivals[0].at < at - WINDOW_MS) {
        this.#arrivals.shift();
      }
      this.#base = this.#base === null ? offset + MARGIN_MS : Math.min(this.#base, offset + MAX_BUFFER_MS);
    }
  }

  /**
   * Begins another game. The rest of the previous one is shown immediately.
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
    const elapsed = Math.max(0, now - this.#now);
    this.#now = now;
    if (this.#base === null) {
      return;
    }
    let latest = -Infinity;
    for (const { offset } of this.#arrivals) {
      latest = Math.max(latest, offset);
    }
    const newest = this.#arrivals[this.#arrivals.length - 1].offset;
    const difference = Math.min(latest + MARGIN_MS, newest + MAX_BUFFER_MS) - this.#base;
    // A pause of the game delays everything. That is not jitter, so `base` jumps.
    const step = Math.abs(difference) > 2 * MAX_BUFFER_MS ? Infinity : SLEW * elapsed;
    this.#base += Math.max(-step, Math.min(step, difference));
  }

  /**
   * Number of the last frame that is due.
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

  /** Shows the oldest message of the queue. Frames before the displayed one, repeated by a rollback, are skipped. */
  #next() {
    const { message } = /** @type {Arrival} */ (this.#queue.shift());
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
