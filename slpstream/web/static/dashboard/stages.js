/**
 * Where the stages are, in the game's own units: y up, x = 0 in the middle. Our own data, no game art.
 *
 * How sure we are. `edge` (x of the right ledge; the left one is its mirror image): documented by the community, and observed
 * in real replays for Fountain of Dreams, Dream Land, Battlefield and Final Destination: nobody stands more than 0.1 beyond.
 * `platforms` and `blast`: documented by the community; heights observed in real replays as far as somebody stood there.
 * `underside`: guessed, a shape to recognise the stage by. Nothing is concluded from it.
 *
 * Of other stages we have no outline that we are sure of. Their ground is drawn as it is observed: where somebody stood.
 */

/**
 * @typedef {object} Platform
 * @property {number} left
 * @property {number} right
 * @property {number} y
 *
 * @typedef {object} Stage
 * @property {number} edge
 * @property {readonly Platform[]} platforms
 * @property {{left: number, right: number, top: number, bottom: number}} blast
 * @property {readonly (readonly [number, number])[]} underside  Corners from the right ledge to the left one.
 */

/**
 * @param {number} left
 * @param {number} right
 * @param {number} y
 * @returns {Platform}
 */
const platform = (left, right, y) => Object.freeze({ left, right, y });

/**
 * @param {number} left
 * @param {number} right
 * @param {number} top
 * @param {number} bottom
 */
const blast = (left, right, top, bottom) => Object.freeze({ left, right, top, bottom });

export const FOUNTAIN_OF_DREAMS = 2;

/** By stage id. @type {Readonly<Record<number, Stage>>} */
export const STAGES = Object.freeze({
  // Fountain of Dreams. The side platforms move; the heights are those at the start. Stage events say the others.
  [FOUNTAIN_OF_DREAMS]: {
    edge: 63.35,
    platforms: [platform(-49.5, -21, 16.125), platform(21, 49.5, 22.125), platform(-14.25, 14.25, 42.75)],
    blast: blast(-198.75, 198.75, 202.5, -146.25),
    underside: [[56, -14], [22, -32], [-22, -32], [-56, -14]],
  },
  // Pokemon Stadium, not transformed.
  3: {
    edge: 87.75,
    platforms: [platform(-55, -25, 25), platform(25, 55, 25)],
    blast: blast(-230, 230, 180, -111),
    underside: [[80, -14], [60, -34], [-60, -34], [-80, -14]],
  },
  // Yoshi's Story. Its ground falls off a little to the ledges (left out), and Randall the cloud passes below them.
  8: {
    edge: 56,
    platforms: [platform(-59.5, -28, 23.45), platform(28, 59.5, 23.45), platform(-15.75, 15.75, 42)],
    blast: blast(-175.7, 173.6, 168, -91),
    underside: [[54, -30], [50, -46], [-50, -46], [-54, -30]],
  },
  // Dream Land N64.
  28: {
    edge: 77.27,
    platforms: [platform(-61.39, -31.73, 30.142), platform(31.7, 63.07, 30.242), platform(-19.02, 19.02, 51.425)],
    blast: blast(-255, 255, 250, -123),
    underside: [[68, -16], [40, -38], [-40, -38], [-68, -16]],
  },
  // Battlefield.
  31: {
    edge: 68.4,
    platforms: [platform(-57.6, -20, 27.2), platform(20, 57.6, 27.2), platform(-18.8, 18.8, 54.4)],
    blast: blast(-224, 224, 200, -108.8),
    underside: [[56, -14], [20, -36], [-20, -36], [-56, -14]],
  },
  // Final Destination.
  32: {
    edge: 85.57,
    platforms: [],
    blast: blast(-246, 246, 188, -140),
    underside: [[70, -16], [30, -44], [-30, -44], [-70, -16]],
  },
});

/** What a `fod_platform` stage event calls the platforms of Fountain of Dreams: place in `platforms`. Documented. */
export const FOUNTAIN_PLATFORMS = Object.freeze(/** @type {Record<number, number>} */ ({ 0: 1, 1: 0 }));

/** Under this height somebody is below the stage, wherever its ledges are. */
export const BELOW = -10;

/**
 * The ground that has been stood on, for stages without an outline: level stretches, as they are seen.
 */
export class ObservedGround {
  /** @type {Platform[]} */ #stretches = [];

  /** @returns {readonly Platform[]} */
  get stretches() {
    return this.#stretches;
  }

  /**
   * Somebody stands here.
   * @param {number} x
   * @param {number} y
   */
  add(x, y) {
    const near = this.#stretches.find(
      (stretch) => Math.abs(stretch.y - y) < LEVEL && x > stretch.left - STEP && x < stretch.right + STEP,
    );
    if (near !== undefined) {
      near.left = Math.min(near.left, x);
      near.right = Math.max(near.right, x);
    } else if (this.#stretches.length < MOST_STRETCHES) {
      this.#stretches.push({ left: x - 1, right: x + 1, y });
    }
  }
}

const LEVEL = 0.6;
const STEP = 12;
const MOST_STRETCHES = 200;
