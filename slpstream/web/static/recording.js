/**
 * The frames of a game near the displayed one, loaded over HTTP in chunks of five seconds. The number of chunks in memory
 * is limited, however long the game is. The newest chunk of a running game is extended when more frames exist.
 */

import { Status } from "./api.js";

/**
 * @typedef {Record<string, any>} Frame
 * @typedef {{through: number, loading: boolean, requestedAt: number}} Chunk  All existing frames up to `through` are loaded.
 */

const CHUNK_FRAMES = 300;
const MAX_CHUNKS = 6;
/** The next chunk is loaded this many frames in advance. */
const AHEAD_FRAMES = 150;
const RETRY_MS = 250;
const FAILURE_WAIT_MS = 1000;
export const FIRST_FRAME = -123;

export class Recording {
  /** By frame number; only those near the last wanted one. @type {Map<number, Frame>} */ frames = new Map();
  /** Whether the daemon lacks the frames of this game. */
  missing = false;
  /** @type {Map<number, Chunk>} */ #chunks = new Map();
  #get;
  #path;
  #onFrames;

  /**
   * @param {(path: string) => Promise<{status: number, body: Record<string, any>}>} get
   * @param {string} gameId
   * @param {readonly string[]} fields  Fields of the frames to load.
   * @param {() => void} onFrames       Called when more frames are loaded.
   */
  constructor(get, gameId, fields, onFrames) {
    this.#get = get;
    this.#path = `v1/games/${encodeURIComponent(gameId)}/frames?fields=${fields.join(",")}`;
    this.#onFrames = onFrames;
  }

  /** Whether a frame is loaded, or known not to exist. @param {number} number */
  knows(number) {
    return number <= (this.#chunks.get(chunkIndexOf(number))?.through ?? -Infinity);
  }

  /** The loaded frame of a number, or the last one before it. @param {number} number */
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
   * Starts loading the frames from a number on.
   * @param {number} number
   * @param {number} last  The last frame of the game so far.
   */
  want(number, last) {
    this.#load(chunkIndexOf(number), last);
    if (number + AHEAD_FRAMES <= last) {
      this.#load(chunkIndexOf(number + AHEAD_FRAMES), last);
    }
    const distance = (/** @type {number} */ chunkIndex) => Math.abs(chunkIndex - chunkIndexOf(number));
    const far = [...this.#chunks.keys()].sort((a, b) => distance(a) - distance(b)).slice(MAX_CHUNKS);
    far.forEach((chunkIndex) => this.#forget(chunkIndex));
  }

  /**
   * @param {number} chunkIndex
   * @param {number} last
   */
  async #load(chunkIndex, last) {
    const first = FIRST_FRAME + chunkIndex * CHUNK_FRAMES;
    const final = first + CHUNK_FRAMES - 1;
    const chunk = this.#chunks.get(chunkIndex) ?? { through: first - 1, loading: false, requestedAt: -Infinity };
    const now = performance.now();
    if (chunk.loading || chunk.through >= Math.min(final, last) || now - chunk.requestedAt < RETRY_MS) {
      return;
    }
    this.#chunks.set(chunkIndex, chunk);
    [chunk.loading, chunk.requestedAt] = [true, now];
    try {
      const { status, body } = await this.#get(`${this.#path}&from=${chunk.through + 1}&to=${final}`);
      this.missing = status !== Status.OK;
      if (this.missing) {
        chunk.requestedAt = now + FAILURE_WAIT_MS;
        this.#onFrames();
      } else if (this.#chunks.get(chunkIndex) === chunk) {
        for (const frame of body.frames) {
          this.frames.set(frame.frame, frame);
          chunk.through = frame.frame;
        }
        this.#onFrames();
      }
    } catch {
      chunk.requestedAt = now + FAILURE_WAIT_MS;
    }
    chunk.loading = false;
  }

  /** @param {number} chunkIndex */
  #forget(chunkIndex) {
    this.#chunks.delete(chunkIndex);
    const first = FIRST_FRAME + chunkIndex * CHUNK_FRAMES;
    for (let number = first; number < first + CHUNK_FRAMES; number++) {
      this.frames.delete(number);
    }
  }
}

/** @param {number} number */
function chunkIndexOf(number) {
  return Math.max(0, Math.floor((number - FIRST_FRAME) / CHUNK_FRAMES));
}
