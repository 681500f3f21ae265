/** Geometry of stages, and the ground of stages without a known outline. */

/**
 * Geometry of a stage in game units, from the daemon's table of stages. y points up, and x is 0 in the middle.
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
 * @property {number} [id]  Id of a moving platform in stage events.
 */

/** Players below this height are off the stage. */
export const OFF_STAGE_Y = -10;

/** Level stretches of ground, observed from players who stand on them. */
export class ObservedGround {
  /** @type {Platform[]} */ #stretches = [];

  /** @returns {readonly Platform[]} */
  get stretches() {
    return this.#stretches;
  }

  /**
   * Adds a point at which a player stands.
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
