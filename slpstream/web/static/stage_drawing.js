/** How a stage is drawn on a canvas, and the colours of such a drawing: on the stage view, and in the miniatures of the wall. */

import { styleValue } from "./canvas.js";
import { arrivals } from "./late.js";

/**
 * The part of the game that a canvas shows: the game units of its left and upper edges, CSS pixels per game unit, and device
 * pixels per CSS pixel.
 * @typedef {{left: number, top: number, scale: number, ratio: number}} Camera
 */

const NAMES = ["text", "quiet", "stage", "stage-edge", "sky", "red", "blue", "yellow", "green"];

/** @type {Record<string, string>} */
let colours = {};
/** Number of arrivals when the colours were read: a late stylesheet changes them. */
let readAt = -1;
matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => {
  readAt = -1;
});

/**
 * The colours of the page by name, and its `font`. The same object until they change.
 * @param {HTMLElement} element
 */
export function stageColours(element) {
  if (readAt !== arrivals() || colours.sky === "") {
    readAt = arrivals();
    const named = Object.fromEntries(NAMES.map((name) => [name, styleValue(element, `--${name}`)]));
    const read = { ...named, font: getComputedStyle(element).fontFamily };
    colours = JSON.stringify(read) === JSON.stringify(colours) ? colours : read;
  }
  return colours;
}

/**
 * The ground and the platforms.
 * @param {CanvasRenderingContext2D} context
 * @param {Camera} camera
 * @param {import("./stages.js").Outline} outline
 * @param {{colours: Record<string, string>, lineWidth: number, heights?: ReadonlyMap<number, number>}} options  `heights` has
 *     those of moving platforms by id.
 */
export function drawStage(context, { left, top, scale }, { edge, underside, platforms }, { colours, lineWidth, heights }) {
  const ground = (0 - left) * scale;
  context.lineJoin = context.lineCap = "round";
  context.beginPath();
  context.moveTo(ground - edge * scale, top * scale);
  context.lineTo(ground + edge * scale, top * scale);
  for (const [x, y] of underside) {
    context.lineTo((x - left) * scale, (top - y) * scale);
  }
  context.closePath();
  context.fillStyle = colours.stage;
  context.fill();
  context.beginPath();
  context.moveTo(ground - edge * scale, top * scale);
  context.lineTo(ground + edge * scale, top * scale);
  for (const platform of platforms) {
    const y = (platform.id === undefined ? undefined : heights?.get(platform.id)) ?? platform.y;
    context.moveTo((platform.left - left) * scale, (top - y) * scale);
    context.lineTo((platform.right - left) * scale, (top - y) * scale);
  }
  context.lineWidth = lineWidth;
  context.strokeStyle = colours["stage-edge"];
  context.stroke();
}
