/** The picture below the scene in the preview: a drawn game, or the user's own picture, which never leaves the browser. */

import { gameArea } from "../game_area.js";

/** @typedef {CanvasRenderingContext2D} Context */

const FIGURES = /** @type {const} */ ([
  [0.17, 134, "#ff8a80"],
  [0.41, 27, "#fff3c0"],
  [0.65, 88, "#ffc24d"],
  [0.88, 0, "#fff"],
]);

/**
 * A game, with its own percents, stocks and timer where Melee has them.
 * @param {Context} context
 * @param {number} width   Of the page, in pixels.
 * @param {number} height
 * @param {number} aspect  Width divided by height of the game's picture.
 */
export function drawGame(context, width, height, aspect) {
  context.fillStyle = "#000";
  context.fillRect(0, 0, width, height);
  const { left, top, width: w, height: h } = gameArea(width, height, aspect);
  context.save();
  context.translate(left, top);
  context.beginPath();
  context.rect(0, 0, w, h);
  context.clip();
  drawSky(context, w, h);
  drawStage(context, w, h);
  drawFighter(context, 0.36 * w, 0.555 * h, 0.06 * h, "#e0483e", 1);
  drawFighter(context, 0.66 * w, 0.4 * h, 0.06 * h, "#3f7fe0", -1);
  drawDisplay(context, w, h);
  context.restore();
}

/**
 * A picture, as large as fits into the page and centred, as OBS places a capture with "fit to screen".
 * @param {Context} context
 * @param {number} width
 * @param {number} height
 * @param {ImageBitmap} picture
 */
export function drawPicture(context, width, height, picture) {
  context.fillStyle = "#000";
  context.fillRect(0, 0, width, height);
  const { left, top, width: w, height: h } = gameArea(width, height, picture.width / picture.height);
  context.drawImage(picture, left, top, w, h);
}

/**
 * @param {Context} context
 * @param {number} w
 * @param {number} h
 */
function drawSky(context, w, h) {
  const sky = context.createLinearGradient(0, 0, 0, h);
  for (const [stop, colour] of /** @type {const} */ ([[0, "#2b3f8c"], [0.4, "#8a6fc0"], [0.62, "#f2b38a"], [0.72, "#6b7fa8"], [1, "#cfd8e8"]])) {
    sky.addColorStop(stop, colour);
  }
  context.fillStyle = sky;
  context.fillRect(0, 0, w, h);
  context.fillStyle = "#ffe6b8";
  context.beginPath();
  context.arc(0.74 * w, 0.3 * h, 0.075 * h, 0, 2 * Math.PI);
  context.fill();
  for (const [colour, base, wave] of /** @type {const} */ ([["#5d5a97", 0.6, 0.05], ["#43477d", 0.66, 0.035]])) {
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(0, h);
    for (let x = 0; x <= 1.001; x += 0.02) {
      context.lineTo(x * w, (base - wave * Math.abs(Math.sin(7 * x + base * 9)) - 0.02 * Math.sin(23 * x)) * h);
    }
    context.lineTo(w, h);
    context.fill();
  }
}

/**
 * @param {Context} context
 * @param {number} w
 * @param {number} h
 */
function drawStage(context, w, h) {
  context.fillStyle = "#333a52";
  context.beginPath();
  for (const [x, y] of [[0.14, 0.565], [0.86, 0.565], [0.78, 0.64], [0.62, 0.71], [0.38, 0.71], [0.22, 0.64]]) {
    context.lineTo(x * w, y * h);
  }
  context.fill();
  context.fillStyle = "#c9d4ee";
  context.fillRect(0.14 * w, 0.557 * h, 0.72 * w, 0.012 * h);
  for (const [x, y] of [[0.22, 0.41], [0.6, 0.41], [0.41, 0.28]]) {
    context.fillRect(x * w, y * h, 0.18 * w, 0.011 * h);
  }
}

/**
 * @param {Context} context
 * @param {number} x
 * @param {number} y  Of the feet.
 * @param {number} size
 * @param {string} colour
 * @param {1 | -1} facing
 */
function drawFighter(context, x, y, size, colour, facing) {
  context.fillStyle = colour;
  context.strokeStyle = "#1a1d2b";
  context.lineWidth = size / 14;
  context.beginPath();
  context.roundRect(x - size * 0.3, y - size, size * 0.6, size, size * 0.28);
  context.fill();
  context.stroke();
  context.beginPath();
  context.arc(x + facing * size * 0.05, y - size * 1.2, size * 0.34, 0, 2 * Math.PI);
  context.fill();
  context.stroke();
  context.fillStyle = "#fff";
  context.fillRect(x + facing * size * 0.12 - size * 0.05, y - size * 1.28, size * 0.12, size * 0.14);
}

/**
 * @param {Context} context
 * @param {number} w
 * @param {number} h
 */
function drawDisplay(context, w, h) {
  const figure = (/** @type {string} */ words, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ size, /** @type {string} */ colour) => {
    context.font = `italic 900 ${size * h}px "slpstream Condensed", "Arial Narrow", Arial, sans-serif`;
    context.textAlign = "center";
    context.lineJoin = "round";
    context.lineWidth = 0.014 * h;
    context.strokeStyle = "#000";
    context.strokeText(words, x * w, y * h);
    context.fillStyle = colour;
    context.fillText(words, x * w, y * h);
  };
  figure("5:43", 0.48, 0.09, 0.085, "#fff");
  figure("21", 0.59, 0.09, 0.055, "#fff");
  for (const [x, percent, colour] of FIGURES) {
    context.fillStyle = "rgba(255, 255, 255, 0.18)";
    context.beginPath();
    context.arc(x * w, 0.86 * h, 0.075 * h, 0, 2 * Math.PI);
    context.fill();
    figure(`${percent}%`, x, 0.92, 0.1, colour);
    context.fillStyle = "#fff";
    for (let stock = 0; stock < 4; stock++) {
      context.beginPath();
      context.arc((x - 0.045 + 0.03 * stock) * w, 0.785 * h, 0.011 * h, 0, 2 * Math.PI);
      context.fill();
    }
  }
}
