/**
 * A miniature of a stage and its fighters, drawn on a small canvas. The camera does not move, so the stage is drawn once for
 * all canvases of a size; a picture is a copy of it, and the fighters.
 */

import { drawFighters } from "../fighters.js";
import { drawStage, stageColours } from "../stage_drawing.js";

/**
 * @typedef {import("../fighters.js").Fighter} Fighter
 * @typedef {import("../fighters.js").Frames} Frames
 * @typedef {import("../stage_drawing.js").Camera} Camera
 * @typedef {import("../stages.js").Outline} Outline
 */

/** Least height of a fighter, as a share of the height of the picture and in CSS pixels. */
const BODY_SHARE = 0.2;
const [MIN_BODY_PX, MAX_BODY_PX] = [16, 26];
const SIDE_UNITS = 50;
const ABOVE_UNITS = 96;
const BELOW_UNITS = 34;
/** The ground of an unknown stage. */
const UNKNOWN = Object.freeze({ edge: 90, platforms: [], underside: [], blast: { left: 0, right: 0, top: 0, bottom: 0 } });
const MAX_KEPT = 64;

/** Drawn stages by size, in these colours. @type {Map<string, HTMLCanvasElement>} */
const drawn = new Map();
/** @type {Record<string, string>} */
let colours = {};

export class MiniStage {
  #context;
  #width = 0;
  #height = 0;
  #ratio = 1;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.#context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
  }

  /**
   * Sets the size in CSS pixels. Returns whether it has changed; the picture is then empty.
   * @param {number} width
   * @param {number} height
   */
  resize(width, height) {
    // Finer pixels are hardly visible in a miniature, and cost four times as much.
    const ratio = Math.min(1.5, devicePixelRatio || 1);
    if (width === this.#width && height === this.#height && ratio === this.#ratio) {
      return false;
    }
    [this.#width, this.#height, this.#ratio] = [width, height, ratio];
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    return true;
  }

  /**
   * @param {import("../fighters.js").Frame | null} frame
   * @param {Frames} frames  Some before it.
   * @param {readonly Fighter[]} fighters
   * @param {{id: number | string, outline: Outline | null}} stage  `null` for an unknown stage.
   * @param {boolean} still  Without trails, sparks and squashing.
   */
  draw(frame, frames, fighters, { id, outline }, still) {
    if (this.#width < 1 || this.#height < 1) {
      return;
    }
    if (stageColours(this.canvas) !== colours) {
      colours = stageColours(this.canvas);
      drawn.clear();
    }
    const context = this.#context;
    const camera = cameraOf(outline ?? UNKNOWN, this.#width, this.#height, this.#ratio);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.#background(id, outline, camera), 0, 0);
    context.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    if (frame !== null) {
      const size = { width: this.#width, height: this.#height };
      const minHigh = Math.min(MAX_BODY_PX, Math.max(MIN_BODY_PX, this.#height * BODY_SHARE));
      drawFighters(context, { frame, frames, fighters, camera, size, colours, still, minHigh });
    }
  }

  /**
   * @param {number | string} id
   * @param {Outline | null} outline
   * @param {Camera} camera
   */
  #background(id, outline, camera) {
    const { width, height } = this.canvas;
    const key = `${id} ${width} ${height} ${outline !== null}`;
    let picture = drawn.get(key);
    if (picture === undefined) {
      picture = document.createElement("canvas");
      [picture.width, picture.height] = [width, height];
      const context = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d", { alpha: false }));
      context.fillStyle = colours.sky;
      context.fillRect(0, 0, width, height);
      context.scale(this.#ratio, this.#ratio);
      const paint = outline === null ? { ...colours, "stage-edge": colours.stage } : colours;
      drawStage(context, camera, outline ?? UNKNOWN, { colours: paint, lineWidth: 2 });
      if (drawn.size >= MAX_KEPT) {
        drawn.delete(/** @type {string} */ (drawn.keys().next().value));
      }
      drawn.set(key, picture);
    }
    return picture;
  }
}

/**
 * @param {Outline} outline
 * @param {number} width
 * @param {number} height
 * @param {number} ratio
 * @returns {Camera}
 */
function cameraOf({ edge }, width, height, ratio) {
  const half = edge + SIDE_UNITS;
  const scale = Math.min(width / (2 * half), height / (ABOVE_UNITS + BELOW_UNITS));
  const middle = (ABOVE_UNITS - BELOW_UNITS) / 2;
  return { left: -width / 2 / scale, top: middle + height / 2 / scale, scale, ratio };
}
