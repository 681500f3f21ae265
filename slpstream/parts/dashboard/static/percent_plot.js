/**
 * `<percent-plot>`: a plot of percent over time with one stepped line per player and a cross at each lost stock. Below it,
 * each stock is a bar, labelled with the percent at its end. Lines differ in their dashes as well as in colour.
 */

import { resized, styleValue } from "../canvas.js";
import { setAttribute } from "../dom.js";
import { colourOf } from "../player_colour.js";
import { gameTime } from "../slippi.js";
import { portText } from "../texts/names.js";
import { list, text } from "../texts/texts.js";

/**
 * @typedef {import("../match.js").PercentHistory} PercentHistory
 *
 * @typedef {object} Line
 * @property {number} index
 * @property {string} name
 * @property {string} team
 * @property {number} port
 * @property {number | null} percent   Current percent; `null` if it is in the history.
 */

const DASHES = /** @type {number[][]} */ ([[], [7, 4], [2, 4], [9, 3, 2, 3]]);
const LEFT = 38;
const RIGHT = 10;
const TOP = 10;
const AXIS = 22;
const BAR = 20;
const MIN_PERCENT = 100;
const PERCENT_STEPS = [25, 50, 100, 200];
const SECOND_STEPS = [10, 15, 30, 60, 120, 300, 600];
const MIN_SECONDS = 20;
const MIN_LABEL_WIDTH = 30;

export class PercentPlot extends HTMLElement {
  #canvas = document.createElement("canvas");
  /** @type {PercentHistory | null} */ #history = null;
  /** @type {Line[]} */ #lines = [];
  #toFrame = 0;
  #scheme = matchMedia("(prefers-color-scheme: light)");
  #observer = new ResizeObserver(() => this.#draw());

  connectedCallback() {
    this.#canvas.setAttribute("role", "img");
    this.append(this.#canvas);
    this.#observer.observe(this.#canvas);
    this.#scheme.addEventListener("change", this.#redraw);
  }

  disconnectedCallback() {
    this.#observer.disconnect();
    this.#scheme.removeEventListener("change", this.#redraw);
  }

  /**
   * @param {PercentHistory} history
   * @param {Line[]} lines
   * @param {number} toFrame  End of the time axis.
   */
  show(history, lines, toFrame) {
    this.#history = history;
    this.#lines = lines;
    this.#toFrame = toFrame;
    setAttribute(this.#canvas, "aria-label", this.#description());
    this.#draw();
  }

  /** The frame in which the timer started. */
  get #timerStart() {
    return this.#history?.timerStart ?? 0;
  }

  #redraw = () => this.#draw();

  #description() {
    const history = this.#history;
    const descriptions = this.#lines.map((line) => {
      const losses = history?.losses.get(line.index) ?? [];
      const lost = losses.map((loss) => text("plot.loss", { percent: Math.floor(loss.percent), time: gameTime(loss.frame - this.#timerStart) }));
      return text(lost.length ? "plot.losses" : "plot.no_losses", { name: line.name, losses: list(lost) });
    });
    return [text("plot.title", { time: gameTime(this.#toFrame - this.#timerStart) }), ...descriptions].join(" ");
  }

  #draw() {
    const history = this.#history;
    const { context, width, height } = resized(this.#canvas);
    if (history === null || width < LEFT + RIGHT + 20 || height < 60) {
      return;
    }
    const colours = this.#lines.map((line) => styleValue(this, `--${colourOf(line)}`));
    const ink = { text: styleValue(this, "--text"), quiet: styleValue(this, "--quiet"), edge: styleValue(this, "--edge") };
    const font = getComputedStyle(this).fontFamily;
    const bottom = height - AXIS - this.#lines.length * BAR - 6;
    const start = this.#timerStart;
    const seconds = Math.max(MIN_SECONDS, (this.#toFrame - start) / 60);
    const maxPercent = this.#maxPercent(history);
    const x = (/** @type {number} */ frame) => LEFT + (Math.max(0, frame - start) / 60 / seconds) * (width - LEFT - RIGHT);
    const y = (/** @type {number} */ percent) => bottom - (percent / maxPercent) * (bottom - TOP);

    context.font = `12px ${font}`;
    context.lineWidth = 1;
    context.fillStyle = ink.quiet;
    context.strokeStyle = ink.edge;
    const step = PERCENT_STEPS.find((each) => maxPercent / each <= 5) ?? 500;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (let percent = 0; percent <= maxPercent; percent += step) {
      line(context, [[LEFT, y(percent)], [width - RIGHT, y(percent)]]);
      context.fillText(`${percent}%`, LEFT - 5, y(percent));
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    const every = SECOND_STEPS.find((each) => seconds / each <= (width - LEFT) / 55) ?? 1200;
    for (let second = 0; second <= seconds; second += every) {
      const at = Math.min(x(start + second * 60), width - 14);
      context.fillText(gameTime(second * 60), at, bottom + 6);
    }
    this.#lines.forEach((each, i) => {
      this.#drawLine(context, history, each, colours[i], DASHES[i % DASHES.length], x, y);
      this.#drawStocks(context, history, each, colours[i], ink, x, bottom + AXIS + i * BAR + 4, width);
    });
  }

  /** @param {PercentHistory} history */
  #maxPercent(history) {
    const maxPercent = Math.max(
      MIN_PERCENT,
      ...[...history.points.values()].map((points) => points.reduce((high, { percent }) => Math.max(high, percent), 0)),
      ...this.#lines.map(({ percent }) => percent ?? 0),
    );
    return Math.ceil(maxPercent / 25) * 25;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {PercentHistory} history
   * @param {Line} player
   * @param {string} colour
   * @param {number[]} dashes
   * @param {(frame: number) => number} x
   * @param {(percent: number) => number} y
   */
  #drawLine(context, history, player, colour, dashes, x, y) {
    const losses = history.losses.get(player.index) ?? [];
    const out = losses.some((loss) => loss.stocks === 0);
    const end = out ? /** @type {import("../match.js").Loss} */ (losses.at(-1)).frame : this.#toFrame;
    /** @type {[number, number][]} */
    const corners = [];
    let percent = 0;
    const points = history.points.get(player.index) ?? [];
    // The line drops to 0 where a stock is lost, because the percent in the frames before the next life means nothing.
    const steps = [...points, ...losses.map(({ frame }) => ({ frame, percent: 0 }))].sort((a, b) => a.frame - b.frame);
    corners.push([x(0), y(0)]);
    for (const step of steps) {
      if (step.frame > end) {
        break;
      }
      corners.push([x(step.frame), y(percent)], [x(step.frame), y(step.percent)]);
      percent = step.percent;
    }
    if (!out) {
      corners.push([x(end), y(percent)]);
    }
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.setLineDash(dashes);
    line(context, corners);
    context.setLineDash([]);
    context.lineWidth = 2.5;
    for (const loss of losses) {
      const [cx, cy] = [x(loss.frame), y(loss.percent)];
      line(context, [[cx - 4, cy - 4], [cx + 4, cy + 4]]);
      line(context, [[cx - 4, cy + 4], [cx + 4, cy - 4]]);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {PercentHistory} history
   * @param {Line} player
   * @param {string} colour
   * @param {{text: string, quiet: string}} ink
   * @param {(frame: number) => number} x
   * @param {number} top
   * @param {number} width
   */
  #drawStocks(context, history, player, colour, ink, x, top, width) {
    const losses = history.losses.get(player.index) ?? [];
    const out = losses.some((loss) => loss.stocks === 0);
    const lives = losses.map((loss, i) => ({
      from: i === 0 ? 0 : losses[i - 1].frame,
      to: loss.frame,
      label: `${Math.floor(loss.percent)}%`,
    }));
    if (!out) {
      lives.push({ from: losses.at(-1)?.frame ?? 0, to: this.#toFrame, label: "" });
    }
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillStyle = ink.quiet;
    context.fillText(portText(player.port), LEFT - 5, top + BAR / 2 - 2);
    const nameEnds = LEFT + 7 + context.measureText(player.name).width;
    for (const { from, to, label } of lives) {
      const [left, right] = [x(from) + 1, Math.min(x(to) - 1, width - RIGHT)];
      if (right <= left) {
        continue;
      }
      context.globalAlpha = 0.28;
      context.fillStyle = colour;
      context.beginPath();
      context.roundRect(left, top, right - left, BAR - 5, 3);
      context.fill();
      context.globalAlpha = 1;
      context.fillRect(right - 2, top, 2, BAR - 5);
      if (label && right - MIN_LABEL_WIDTH > Math.max(left, nameEnds)) {
        context.fillStyle = ink.text;
        context.fillText(label, right - 5, top + BAR / 2 - 2);
      }
    }
    context.textAlign = "left";
    context.fillStyle = ink.text;
    context.fillText(player.name, LEFT + 7, top + BAR / 2 - 2);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number][]} corners
 */
function line(context, corners) {
  context.beginPath();
  corners.forEach(([x, y], i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
  context.stroke();
}

customElements.define("percent-plot", PercentPlot);
