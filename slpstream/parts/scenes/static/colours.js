/** Contrast of colours, as the Web Content Accessibility Guidelines 2 define it. */

/** @typedef {readonly [number, number, number]} Rgb  Channels from 0 to 255. */

const BLACK = /** @type {Rgb} */ ([11, 13, 20]);
const WHITE = /** @type {Rgb} */ ([255, 255, 255]);
const STEPS = 20;

/** @type {CanvasRenderingContext2D | null} */
let context = null;

/**
 * A CSS colour as channels and alpha. The browser parses it, so that every notation works.
 * @param {string} css
 * @returns {{rgb: Rgb, alpha: number}}
 */
export function parsed(css) {
  context ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const canvas = /** @type {CanvasRenderingContext2D} */ (context);
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = "#000";
  canvas.fillStyle = css.trim();
  canvas.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
  return { rgb: [red, green, blue], alpha: alpha / 255 };
}

/** @param {Rgb} colour */
export function luminance(colour) {
  const [red, green, blue] = colour.map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/**
 * From 1 to 21.
 * @param {Rgb} one
 * @param {Rgb} other
 */
export function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/**
 * Whether white is more readable on a colour than black.
 * @param {Rgb} background
 */
export function isDark(background) {
  return contrast(WHITE, background) > contrast(BLACK, background);
}

/**
 * Black or white, whichever is more readable on a colour. The contrast is at least 4.5.
 * @param {Rgb} background
 */
export function inkOn(background) {
  return css(isDark(background) ? WHITE : BLACK);
}

/**
 * A colour, moved towards black or white as far as the contrast with the background requires.
 * @param {Rgb} colour
 * @param {Rgb} background
 * @param {number} [ratio]
 */
export function readable(colour, background, ratio = 4.6) {
  const towards = isDark(background) ? WHITE : BLACK;
  for (let step = 0; step < STEPS; step++) {
    const mixed = mix(colour, towards, step / STEPS);
    if (contrast(mixed, background) >= ratio) {
      return css(mixed);
    }
  }
  return css(towards);
}

/**
 * @param {Rgb} from
 * @param {Rgb} to
 * @param {number} share  0 is `from`.
 * @returns {Rgb}
 */
export function mix(from, to, share) {
  const [red, green, blue] = from.map((channel, i) => Math.round(channel + (to[i] - channel) * share));
  return [red, green, blue];
}

/** @param {Rgb} colour */
function css([red, green, blue]) {
  return `rgb(${red}, ${green}, ${blue})`;
}
