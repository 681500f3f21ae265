/** Small drawings of scenes and layouts, for choosing one. A new one without a drawing has an empty screen. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {[kind: "plate" | "accent" | "ink", x: number, y: number, width: number, height: number]} Box
 *     On a screen of 32x18. `plate` is a panel, `accent` a coloured part of it, `ink` text.
 */

/** @type {Readonly<Record<string, Box[]>>} */
const SKETCHES = {
  sides: [["plate", 0, 0, 5, 18], ["plate", 27, 0, 5, 18], ["accent", 1, 2, 3, 3], ["accent", 28, 2, 3, 3], ["ink", 1, 7, 3, 1], ["ink", 28, 7, 3, 1]],
  top: [["plate", 1, 1, 10, 4], ["plate", 21, 1, 10, 4], ["accent", 1, 1, 2, 4], ["accent", 29, 1, 2, 4], ["ink", 4, 2.5, 5, 1], ["ink", 23, 2.5, 5, 1]],
  bottom: [["plate", 1, 14, 13, 3], ["plate", 18, 14, 13, 3], ["accent", 1, 14, 2, 3], ["accent", 29, 14, 2, 3], ["ink", 4, 15, 7, 1], ["ink", 21, 15, 7, 1]],
  hud: [["plate", 1, 10, 13, 7], ["plate", 18, 10, 13, 7], ["accent", 2, 11, 3, 5], ["accent", 27, 11, 3, 5], ["ink", 7, 12, 5, 3], ["ink", 20, 12, 5, 3]],
  versus: [["plate", 2, 3, 28, 12], ["accent", 3, 5, 6, 6], ["accent", 23, 5, 6, 6], ["ink", 14, 7, 4, 3], ["ink", 3, 12, 6, 1], ["ink", 23, 12, 6, 1]],
  matchup: [["plate", 2, 1, 28, 16], ["accent", 3, 3, 4, 4], ["accent", 25, 3, 4, 4], ["ink", 12, 2.5, 3, 5], ["ink", 17, 2.5, 3, 5], ["ink", 6, 10, 6, 1], ["ink", 20, 10, 6, 1], ["ink", 8, 12, 4, 1], ["ink", 20, 12, 4, 1], ["ink", 9, 14, 3, 1], ["ink", 20, 14, 3, 1]],
  player: [["plate", 5, 2, 22, 14], ["accent", 5, 2, 22, 1], ["accent", 7, 4, 6, 6], ["ink", 15, 5, 9, 2], ["ink", 15, 8, 6, 1], ["ink", 7, 12, 18, 1], ["ink", 7, 14, 18, 1]],
  "game-result": [["plate", 2, 3, 28, 12], ["ink", 3, 5, 5, 1], ["ink", 3, 7, 4, 1], ["ink", 3, 9, 5, 1], ["ink", 24, 5, 5, 1], ["ink", 25, 7, 4, 1], ["accent", 11, 11, 2, 2], ["accent", 14, 8, 2, 5], ["accent", 17, 9.5, 2, 3.5], ["accent", 20, 6, 2, 7]],
  "set-result": [["plate", 2, 2, 28, 14], ["accent", 12, 3, 3.5, 3.5], ["accent", 16.5, 3, 3.5, 3.5], ["ink", 4, 8, 24, 1], ["ink", 4, 10, 24, 1], ["ink", 4, 12, 24, 1], ["ink", 4, 14, 24, 1]],
  highlights: [["plate", 1, 1, 30, 16], ["accent", 2, 2, 6, 2], ["accent", 10, 6, 2, 4], ["accent", 20, 9, 2, 4], ["ink", 8, 14, 16, 1.5]],
  "up-next": [["plate", 2, 3, 28, 12], ["accent", 2, 3, 28, 2], ["ink", 5, 7, 7, 2], ["ink", 20, 7, 7, 2], ["ink", 4, 11, 24, 1], ["ink", 4, 13, 24, 1]],
  replay: [["plate", 1, 1, 30, 16], ["ink", 8, 12, 16, 1], ["accent", 11, 8, 2, 4], ["accent", 19, 4, 2, 4], ["ink", 2, 2, 4, 1.5]],
  controller: [["plate", 3, 6, 12, 7], ["plate", 17, 6, 12, 7], ["accent", 5, 8, 3, 3], ["ink", 10, 8, 3, 1], ["ink", 10, 10, 3, 1], ["accent", 19, 8, 3, 3], ["ink", 24, 8, 3, 1], ["ink", 24, 10, 3, 1]],
  casters: [["plate", 2, 12, 13, 4], ["plate", 17, 12, 13, 4], ["accent", 2, 12, 1, 4], ["accent", 17, 12, 1, 4], ["ink", 4, 13, 8, 1], ["ink", 4, 14.5, 5, 0.7], ["ink", 19, 13, 8, 1], ["ink", 19, 14.5, 5, 0.7]],
  ticker: [["plate", 0, 14.5, 32, 3.5], ["accent", 0, 14.5, 6, 3.5], ["ink", 8, 15.7, 6, 1], ["ink", 17, 15.7, 6, 1], ["ink", 26, 15.7, 6, 1]],
};
/** @type {Readonly<Record<string, string>>} */
const SAME = { live: "sides" };

/**
 * The drawing of a scene or a layout. It is decoration, because the name is next to it.
 * @param {string} name
 */
export function sketchOf(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 32 18");
  svg.setAttribute("class", "sketch");
  svg.setAttribute("aria-hidden", "true");
  for (const [kind, x, y, width, height] of SKETCHES[SAME[name] ?? name] ?? []) {
    const box = document.createElementNS(SVG, "rect");
    for (const [attribute, value] of Object.entries({ class: kind, x, y, width, height })) {
      box.setAttribute(attribute, String(value));
    }
    svg.append(box);
  }
  return svg;
}
