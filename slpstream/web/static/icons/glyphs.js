/** The bundled glyphs: which file shows a character or a stage, and their shapes for drawing on a canvas. */

import { arrived } from "../late.js";
import { sleep } from "../timing.js";

/** Width and height of a character's glyph. */
export const GLYPH_SIZE = 64;

const CHARACTERS = 33;
/** Stages that are shown as another one. @type {Readonly<Record<number, number | string>>} */
const ALIKE = Object.freeze({
  0: "test", 1: "test",
  59: 19, 60: 4, 61: 5, 62: 12, 63: "maze", 64: 14, 65: 6, 66: 6, 67: 17, 68: 17, 69: 17, 70: 7, 71: 7, 72: 3, 73: 10,
  74: 10, 75: 9, 76: 25, 77: 26, 78: 31, 79: 31, 80: 32, 81: 32, 82: "race", 83: "trophies", 84: "home_run", 85: "rest",
});
const [FIRST_VERSUS, LAST_VERSUS] = [2, 32];
const [FIRST_TARGETS, LAST_TARGETS] = [33, 58];
const RETRY_MS = 2000;

/**
 * The shape of a glyph, and its contours one by one: filled, they cover its openings too.
 * @typedef {{whole: Path2D, contours: readonly Path2D[]}} Shape
 */

/** By name; `null` until loaded. @type {Map<string, Shape | null>} */
const shapes = new Map();

/**
 * The name of the file in `stages/` that shows a stage.
 * @param {number} stageId
 */
export function stageGlyph(stageId) {
  if (stageId >= FIRST_TARGETS && stageId <= LAST_TARGETS) {
    return "targets";
  }
  return ALIKE[stageId] ?? (stageId >= FIRST_VERSUS && stageId <= LAST_VERSUS ? stageId : "test");
}

/**
 * The name of the file in `characters/` that shows a character.
 * @param {number} characterId
 */
export function characterGlyphName(characterId) {
  return Number.isInteger(characterId) && characterId >= 0 && characterId < CHARACTERS ? String(characterId) : "unknown";
}

/**
 * The shape of a character's glyph, or `null` until it is loaded, which is an arrival of `late.js`. An unknown character has none.
 * @param {number} characterId
 * @returns {Shape | null}
 */
export function characterShape(characterId) {
  const name = characterGlyphName(characterId);
  if (name !== "unknown" && !shapes.has(name)) {
    shapes.set(name, null);
    loadShape(name);
  }
  return shapes.get(name) ?? null;
}

/** @param {string} name */
async function loadShape(name) {
  for (;;) {
    try {
      const response = await fetch(new URL(`characters/${name}.svg`, import.meta.url));
      const [, shape] = (await response.text()).match(/ d="([^"]+)"/) ?? [];
      if (response.ok && shape !== undefined) {
        const contours = (shape.match(/M[^M]+/g) ?? []).map((contour) => new Path2D(contour));
        shapes.set(name, { whole: new Path2D(shape), contours });
        arrived();
        return;
      }
    } catch {
      // The daemon is unreachable at the moment.
    }
    await sleep(RETRY_MS);
  }
}
