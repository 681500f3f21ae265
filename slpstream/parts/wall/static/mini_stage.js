/**
 * A miniature of a stage and its fighters, drawn on a small canvas. The camera does not move, so the stage is drawn once for
 * all canvases of a size; a picture is a copy of it and a few shapes.
 */

import { styleValue } from "../canvas.js";

/**
 * @typedef {import("../stages.js").Outline} Outline
 * @typedef {{left: number, top: number, scale: number}} Camera
 * @typedef {{index: number, port: number, colour: string, hasStocks: boolean}} Fighter
 */

const BODY_UNITS = 17;
const MIN_BODY_PX = 10;
const MIN_DIGIT_PX = 15;
const SIDE_UNITS = 50;
const ABOVE_UNITS = 96;
const BELOW_UNITS = 34;
const UNKNOWN_EDGE = 90;
const DYING = /** @type {const} */ ([0x00, 0x0a]);
const DAMAGED = /** @type {const} */ ([0x4b, 0x5b]);
const MAX_KEPT = 64;
const COLOURS = ["red", "blue", "yellow", "green", "sky", "stage", "stage-edge", "text", "quiet"];

/** The colours of the page, read again when its scheme changes. @type {Record<string, string>} */
let colours = {};
/** Drawn stages by size. @type {Map<string, HTMLCanvasElement>} */
const drawn = new Map();
matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => {
  colours = {};
  drawn.clear();
});

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
   * @param {Record<string, any> | null} frame
   * @param {readonly Fighter[]} fighters
   * @param {number | string} stageId
   * @param {Outline | null} outline  `null` for an unknown stage.
   */
  draw(frame, fighters, stageId, outline) {
    if (this.#width < 1 || this.#height < 1) {
      return;
    }
    readColours(this.canvas);
    const context = this.#context;
    const camera = cameraOf(outline, this.#width, this.#height);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.#background(stageId, outline, camera), 0, 0);
    context.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    for (const fighter of fighters) {
      const post = frame?.players?.[fighter.index]?.post;
      if (post?.positionX !== undefined && !(fighter.hasStocks && post.stocksRemaining === 0)) {
        this.#drawFighter(post, fighter, camera);
      }
    }
  }

  /**
   * @param {Record<string, any>} post
   * @param {Fighter} fighter
   * @param {Camera} camera
   */
  #drawFighter(post, { port, colour }, { left, top, scale }) {
    const context = this.#context;
    const high = Math.max(MIN_BODY_PX, BODY_UNITS * scale);
    const wide = high * 0.62;
    const x = clamp((post.positionX - left) * scale, wide / 2 + 1, this.#width - wide / 2 - 1);
    const y = clamp((top - post.positionY) * scale, high + 1, this.#height - 1);
    const paint = colours[colour] ?? colours.red;
    const state = post.actionStateId ?? -1;
    if (state >= DYING[0] && state <= DYING[1]) {
      context.beginPath();
      context.moveTo(x - high / 2, y - high);
      context.lineTo(x + high / 2, y);
      context.moveTo(x + high / 2, y - high);
      context.lineTo(x - high / 2, y);
      context.lineWidth = 2.5;
      context.strokeStyle = paint;
      context.stroke();
      return;
    }
    context.beginPath();
    context.roundRect(x - wide / 2, y - high, wide, high, wide / 2);
    const facing = Math.sign(post.facingDirection ?? 0);
    if (facing !== 0) {
      const nose = x + (facing * wide) / 2;
      context.moveTo(nose, y - high * 0.85);
      context.lineTo(nose + facing * high * 0.28, y - high * 0.66);
      context.lineTo(nose, y - high * 0.48);
    }
    context.fillStyle = paint;
    context.fill();
    context.lineWidth = state >= DAMAGED[0] && state <= DAMAGED[1] ? 2 : 1;
    context.strokeStyle = state >= DAMAGED[0] && state <= DAMAGED[1] ? colours.text : colours.sky;
    context.stroke();
    if (high >= MIN_DIGIT_PX) {
      context.font = `700 ${Math.round(high * 0.5)}px system-ui, sans-serif`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillStyle = colours.sky;
      context.fillText(String(port), x, y - high * 0.45);
    }
  }

  /**
   * @param {number | string} stageId
   * @param {Outline | null} outline
   * @param {Camera} camera
   */
  #background(stageId, outline, camera) {
    const { width, height } = this.canvas;
    const key = `${stageId} ${width} ${height} ${outline !== null}`;
    let picture = drawn.get(key);
    if (picture === undefined) {
      picture = document.createElement("canvas");
      [picture.width, picture.height] = [width, height];
      const context = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d", { alpha: false }));
      context.fillStyle = colours.sky;
      context.fillRect(0, 0, width, height);
      context.scale(this.#ratio, this.#ratio);
      drawStage(context, outline, camera);
      if (drawn.size >= MAX_KEPT) {
        drawn.delete(/** @type {string} */ (drawn.keys().next().value));
      }
      drawn.set(key, picture);
    }
    return picture;
  }
}

/** @param {HTMLCanvasElement} canvas */
function readColours(canvas) {
  if (colours.sky === undefined) {
    for (const name of COLOURS) {
      colours[name] = styleValue(canvas, `--${name}`);
    }
  }
}

/**
 * @param {Outline | null} outline
 * @param {number} width
 * @param {number} height
 * @returns {Camera}
 */
function cameraOf(outline, width, height) {
  const half = (outline?.edge ?? UNKNOWN_EDGE) + SIDE_UNITS;
  const scale = Math.min(width / (2 * half), height / (ABOVE_UNITS + BELOW_UNITS));
  const middle = (ABOVE_UNITS - BELOW_UNITS) / 2;
  return { left: -width / 2 / scale, top: middle + height / 2 / scale, scale };
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Outline | null} outline
 * @param {Camera} camera
 */
function drawStage(context, outline, { left, top, scale }) {
  /** @type {(x: number, y: number) => [number, number]} */
  const at = (x, y) => [(x - left) * scale, (top - y) * scale];
  const edge = outline?.edge ?? UNKNOWN_EDGE;
  context.lineJoin = context.lineCap = "round";
  if (outline !== null) {
    context.beginPath();
    context.moveTo(...at(-edge, 0));
    for (const [x, y] of [/** @type {const} */ ([edge, 0]), ...outline.underside]) {
      context.lineTo(...at(x, y));
    }
    context.closePath();
    context.fillStyle = colours.stage;
    context.fill();
  }
  context.lineWidth = 2;
  context.strokeStyle = outline === null ? colours.stage : colours["stage-edge"];
  context.beginPath();
  context.moveTo(...at(-edge, 0));
  context.lineTo(...at(edge, 0));
  for (const platform of outline?.platforms ?? []) {
    context.moveTo(...at(platform.left, platform.y));
    context.lineTo(...at(platform.right, platform.y));
  }
  context.stroke();
}

/**
 * @param {number} value
 * @param {number} min
 * @param {number} max
 */
function clamp(value, min, max) {
  return Math.min(max, Math.max(min, value));
}
