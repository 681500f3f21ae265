/** The ground of stages: what counts as below a stage, and where the ground is on stages whose outline is not known. */

/**
 * Geometry of a stage in game units, from the daemon's table of stages: y points up, x = 0 is the middle.
 * @typedef {object} Outline
 * @property {number} edge  x of the right ledge; the left one is its mirror image.
 * @property {readonly Platform[]} platforms
 * @property {{left: number, right: number, top: number, bottom: number}} blast
 * @property {readonly (readonly [number, number])[]} underside  Corners from the right ledge to the left one.
 *
 * @typedef {object} Platform
 * @property {number} left
 * @property {number} right
 * @property {number} y
 * @property {number} [id]  What stage events call a platform that moves.
 */

/** A player below this height is below the stage, wherever its ledges are. */
export const BELOW = -10;

/** Level stretches of ground, as players stand on them. */
export class ObservedGround {
  /** @type {Platform[]} */ #stretches = [];

  /** @returns {readonly Platform[]} */
  get stretches() {
    return this.#stretches;
  }

  /**
   * Notes that a player stands at a point.
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
    } else if (this.#stretches.length < MAX_STRETCHES) {
      this.#stretches.push({ left: x - 1, right: x + 1, y });
    }
  }
}

/** Points belong to one stretch when they differ by less than this in y, and less than `STEP` in x. */
const LEVEL = 0.6;
const STEP = 12;
const MAX_STRETCHES = 200;
