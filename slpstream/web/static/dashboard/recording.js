/**
 * The frames of a game, asked for over HTTP around the place that is looked at: some chunks of five seconds, and no more,
 * however long the game is. Of a running game the newest chunk grows; it is asked for what is missing.
 */

/**
 * @typedef {Record<string, any>} Frame
 * @typedef {{through: number, asking: boolean, askedAt: number}} Chunk  It has all frames up to `through` that there are.
 */

const CHUNK_FRAMES = 300;
const MOST_CHUNKS = 6;
/** Frames before the end of what is there, when the next ones are asked for. */
const AHEAD_FRAMES = 150;
const ASK_AGAIN_MS = 250;
const AFTER_FAILURE_MS = 1000;
export const FIRST_FRAME = -123;

export class Recording {
  /** By number; only those near the place that was wanted last. @type {Map<number, Frame>} */ frames = new Map();
  /** The daemon has no frames of this game. */
  missing = false;
  /** @type {Map<number, Chunk>} */ #chunks = new Map();
  #ask;
  #path;
  #onFrames;

  /**
   * @param {(path: string) => Promise<{status: number, body: Record<string, any>}>} ask
   * @param {string} gameId
   * @param {readonly string[]} fields  What the frames are cut down to.
   * @param {() => void} onFrames       There are more of them.
   */
  constructor(ask, gameId, fields, onFrames) {
    this.#ask = ask;
    this.#path = `v1/games/${encodeURIComponent(gameId)}/frames?fields=${fields.join(",")}`;
    this.#onFrames = onFrames;
  }

  /** Whether the daemon has been asked for a frame; if it is not there now, the game has none of that number. @param {number} number */
  knows(number) {
    return number <= (this.#chunks.get(chunkOf(number))?.through ?? -Infinity);
  }

  /** The frame of a number, or the last one before it, as far as they are here. @param {number} number */
  at(number) {
    for (let i = number; i > number - CHUNK_FRAMES; i--) {
      const frame = this.frames.get(i);
      if (frame !== undefined) {
        return frame;
      }
    }
    return null;
  }

  /**
   * Sees to it that the frames from a number on are here soon.
   * @param {number} number
   * @param {number} last  The last frame of the game so far.
   */
  want(number, last) {
    this.#load(chunkOf(number), last);
    if (number + AHEAD_FRAMES <= last) {
      this.#load(chunkOf(number + AHEAD_FRAMES), last);
    }
    const distance = (/** @type {number} */ k) => Math.abs(k - chunkOf(number));
    const far = [...this.#chunks.keys()].sort((a, b) => distance(a) - distance(b)).slice(MOST_CHUNKS);
    far.forEach((k) => this.#forget(k));
  }

  /**
   * @param {number} k
   * @param {number} last
   */
  async #load(k, last) {
    const begin = FIRST_FRAME + k * CHUNK_FRAMES;
    const end = begin + CHUNK_FRAMES - 1;
    const chunk = this.#chunks.get(k) ?? { through: begin - 1, asking: false, askedAt: -Infinity };
    const now = performance.now();
    if (chunk.asking || chunk.through >= Math.min(end, last) || now - chunk.askedAt < ASK_AGAIN_MS) {
      return;
    }
    this.#chunks.set(k, chunk);
    [chunk.asking, chunk.askedAt] = [true, now];
    try {
      const { status, body } = await this.#ask(`${this.#path}&from=${chunk.through + 1}&to=${end}`);
      this.missing = status !== 200;
      if (this.missing) {
        chunk.askedAt = now + AFTER_FAILURE_MS;
        this.#onFrames();
      } else if (this.#chunks.get(k) === chunk) {
        for (const frame of body.frames) {
          this.frames.set(frame.frame, frame);
          chunk.through = frame.frame;
        }
        this.#onFrames();
      }
    } catch {
      chunk.askedAt = now + AFTER_FAILURE_MS;
    }
    chunk.asking = false;
  }

  /** @param {number} k */
  #forget(k) {
    this.#chunks.delete(k);
    const begin = FIRST_FRAME + k * CHUNK_FRAMES;
    for (let number = begin; number < begin + CHUNK_FRAMES; number++) {
      this.frames.delete(number);
    }
  }
}

/** @param {number} number */
function chunkOf(number) {
  return Math.max(0, Math.floor((number - FIRST_FRAME) / CHUNK_FRAMES));
}
