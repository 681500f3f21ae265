/**
 * `<controller-display>`: a drawing of a player's controller, with the control stick, C-stick, triggers and buttons as the
 * controller sends them, before the game processes them.
 *
 *     const display = document.createElement("controller-display");
 *     display.show(frame.players[0].pre);
 *
 * Its colours are for a dark ground; the custom properties `--controller-edge`, `--controller-groove`, `--controller-plain` and
 * `--controller-strong` change them.
 */

import { styleValue } from "./canvas.js";

/** The fields of a frame that the display needs. */
export const CONTROLLER_FIELDS = Object.freeze([
  "pre.joystickX",
  "pre.joystickY",
  "pre.cStickX",
  "pre.cStickY",
  "pre.trigger",
  "pre.physicalButtons",
  "pre.physicalLTrigger",
  "pre.physicalRTrigger",
]);

const WIDTH = 184;
const HEIGHT = 72;
const STICK_REACH = 11;

/** Bits of `physicalButtons`. */
const BITS = Object.freeze({
  left: 0x1, right: 0x2, down: 0x4, up: 0x8, z: 0x10, r: 0x20, l: 0x40, a: 0x100, b: 0x200, x: 0x400, y: 0x800, start: 0x1000,
});

/** [bit, centre x, centre y, radius, colour, letter]; a button without a colour has the plain one. */
const ROUND_BUTTONS = /** @type {const} */ ([
  [BITS.a, 143, 38, 10, "#2fd08a", "A"],
  [BITS.b, 125, 48, 6.5, "#ff4d55", "B"],
  [BITS.x, 160.5, 33, 6.5, "", "X"],
  [BITS.y, 138, 19.5, 6.5, "", "Y"],
  [BITS.start, 104, 21, 4.5, "", ""],
]);
const DPAD_BUTTONS = /** @type {const} */ ([
  [BITS.up, 102, 41],
  [BITS.down, 102, 55],
  [BITS.left, 95, 48],
  [BITS.right, 109, 48],
]);
const TAU = 2 * Math.PI;
/** The colours that a stylesheet can change, on a dark ground. */
const INKS = Object.freeze({
  edge: "rgba(255, 255, 255, 0.75)",
  groove: "rgba(8, 10, 16, 0.62)",
  plain: "#dfe4ee",
  strong: "#ffffff",
});

/** @typedef {Record<keyof typeof INKS, string>} Inks */

/**
 * @typedef {object} Held  Members of `PreFrame`. Unknown ones count as released.
 * @property {number} [joystickX]
 * @property {number} [joystickY]
 * @property {number} [cStickX]
 * @property {number} [cStickY]
 * @property {number} [trigger]
 * @property {number} [physicalButtons]
 * @property {number} [physicalLTrigger]
 * @property {number} [physicalRTrigger]
 */

export class ControllerDisplay extends HTMLElement {
  #canvas = document.createElement("canvas");
  #drawn = "";
  /** @type {Inks} */ #inks = INKS;

  connectedCallback() {
    if (!this.contains(this.#canvas)) {
      this.setAttribute("role", "img");
      this.setAttribute("aria-label", "controller");
      this.append(this.#canvas);
    }
    const inks = Object.entries(INKS).map(([name, usual]) => [name, styleValue(this, `--controller-${name}`) || usual]);
    this.#inks = Object.fromEntries(inks);
  }

  /** @param {Held | undefined} held */
  show(held = {}) {
    const { joystickX = 0, joystickY = 0, cStickX = 0, cStickY = 0, physicalButtons: buttons = 0 } = held;
    const left = buttons & BITS.l ? 1 : (held.physicalLTrigger ?? 0);
    const right = buttons & BITS.r ? 1 : (held.physicalRTrigger ?? 0);
    const ratio = Math.max(1, Math.min(4, (this.#canvas.clientWidth || WIDTH) * devicePixelRatio / WIDTH));
    // Most frames do not change the controller, so most need no drawing.
    const state = [joystickX, joystickY, cStickX, cStickY, buttons, left, right, ratio].join();
    if (state === this.#drawn) {
      return;
    }
    this.#drawn = state;
    this.dataset.buttons = buttonNames(buttons);
    this.dataset.stick = `${joystickX.toFixed(2)},${joystickY.toFixed(2)}`;
    this.#size(ratio);
    const context = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext("2d"));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, WIDTH, HEIGHT);
    const inks = this.#inks;
    trigger(context, inks, 9, left, (buttons & BITS.l) !== 0, "L");
    trigger(context, inks, 175, right, (buttons & BITS.r) !== 0, "R");
    stick(context, inks, 38, 37, 19, joystickX, joystickY, "#f2f4f9");
    stick(context, inks, 75, 48, 14, cStickX, cStickY, "#ffd23f");
    for (const [bit, x, y, radius, colour, letter] of ROUND_BUTTONS) {
      button(context, inks, x, y, radius, colour || inks.plain, letter, (buttons & bit) !== 0);
    }
    for (const [bit, x, y] of DPAD_BUTTONS) {
      dpadButton(context, inks, x, y, (buttons & bit) !== 0);
    }
    zButton(context, inks, (buttons & BITS.z) !== 0);
  }

  /** @param {number} ratio */
  #size(ratio) {
    const width = Math.round(WIDTH * ratio);
    if (this.#canvas.width !== width) {
      this.#canvas.width = width;
      this.#canvas.height = Math.round(HEIGHT * ratio);
    }
  }
}

/** @param {number} buttons */
function buttonNames(buttons) {
  return Object.entries(BITS).filter(([, bit]) => buttons & bit).map(([name]) => name).join(" ");
}

/** @type {(context: CanvasRenderingContext2D, x: number, y: number, radius: number) => void} */
function circle(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, TAU);
}

/** OBS has no `roundRect` yet. */
/** @type {(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, radius: number) => void} */
function roundedBox(context, x, y, width, height, radius) {
  const [right, bottom] = [x + width, y + height];
  context.beginPath();
  context.moveTo(x + radius, y);
  context.arcTo(right, y, right, bottom, radius);
  context.arcTo(right, bottom, x, bottom, radius);
  context.arcTo(x, bottom, x, y, radius);
  context.arcTo(x, y, right, y, radius);
  context.closePath();
}

/** The gate is octagonal, as on the real controller. */
/** @type {(context: CanvasRenderingContext2D, inks: Inks, x: number, y: number, radius: number, dx: number, dy: number, colour: string) => void} */
function stick(context, { edge, groove }, x, y, radius, dx, dy, colour) {
  context.beginPath();
  for (let corner = 0; corner < 8; corner++) {
    const angle = (corner * TAU) / 8;
    context.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  }
  context.closePath();
  context.fillStyle = groove;
  context.fill();
  context.lineWidth = 1.5;
  context.strokeStyle = edge;
  context.stroke();
  const reach = (STICK_REACH * radius) / 19;
  circle(context, x + dx * reach, y - dy * reach, radius * 0.56);
  context.fillStyle = colour;
  context.fill();
  context.lineWidth = 1;
  context.strokeStyle = "rgba(0, 0, 0, 0.55)";
  context.stroke();
}

/** @type {(context: CanvasRenderingContext2D, inks: Inks, x: number, y: number, radius: number, colour: string, letter: string, held: boolean) => void} */
function button(context, { groove, strong }, x, y, radius, colour, letter, held) {
  circle(context, x, y, radius);
  context.fillStyle = held ? colour : groove;
  context.fill();
  context.lineWidth = 1.5;
  context.strokeStyle = held ? strong : colour;
  context.stroke();
  if (letter) {
    text(context, letter, x, y, radius * 1.15, held ? "#0b0e14" : colour);
  }
}

/** @type {(context: CanvasRenderingContext2D, inks: Inks, x: number, y: number, held: boolean) => void} */
function dpadButton(context, { plain, strong }, x, y, held) {
  context.globalAlpha = held ? 1 : 0.32;
  context.fillStyle = held ? strong : plain;
  context.fillRect(x - 3.5, y - 3.5, 7, 7);
  context.globalAlpha = 1;
}

/** @type {(context: CanvasRenderingContext2D, inks: Inks, held: boolean) => void} */
function zButton(context, { groove, strong }, held) {
  roundedBox(context, 151, 7, 15, 6, 3);
  context.fillStyle = held ? "#b58cff" : groove;
  context.fill();
  context.lineWidth = 1.2;
  context.strokeStyle = held ? strong : "#b58cff";
  context.stroke();
}

/** Filled from below as far as the trigger is pressed; full and bright when it clicks. */
/** @type {(context: CanvasRenderingContext2D, inks: Inks, x: number, pressed: number, click: boolean, letter: string) => void} */
function trigger(context, { edge, groove, strong }, x, pressed, click, letter) {
  const [top, height] = [8, 46];
  roundedBox(context, x - 4.5, top, 9, height, 4);
  context.fillStyle = groove;
  context.fill();
  context.save();
  context.clip();
  context.fillStyle = click ? "#6ee7ff" : "#9fb2d6";
  context.fillRect(x - 4.5, top + height * (1 - pressed), 9, height * pressed);
  context.restore();
  context.lineWidth = 1.2;
  context.strokeStyle = click ? strong : edge;
  context.stroke();
  text(context, letter, x, 63, 9, click ? strong : edge);
}

/** @type {(context: CanvasRenderingContext2D, letter: string, x: number, y: number, size: number, colour: string) => void} */
function text(context, letter, x, y, size, colour) {
  context.fillStyle = colour;
  context.font = `800 ${size}px "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(letter, x, y + 0.5);
}

customElements.define("controller-display", ControllerDisplay);
