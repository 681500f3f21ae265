/** The bundled glyphs: which one shows a character or a stage, and their shapes for drawing on a canvas. */

import { arrived } from "../late.js";
import { loadFile } from "../tables.js";

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

/**
 * The shape of a glyph, and its contours one by one: filled, they cover its openings too.
 * @typedef {{whole: Path2D, contours: readonly Path2D[]}} Shape
 */

/**
 * The drawn path of each glyph.
 * @typedef {Record<"characters" | "stages", Record<string, string>>} Glyphs
 */

/** @type {Promise<Glyphs> | null} */
let loading = null;
/** By the id of the character, once they are loaded. @type {Map<number, Shape> | null} */
let shapes = null;

/**
 * The name of the glyph of `stages` that shows a stage.
 * @param {number} stageId
 */
export function stageGlyph(stageId) {
  if (stageId >= FIRST_TARGETS && stageId <= LAST_TARGETS) {
    return "targets";
  }
  return ALIKE[stageId] ?? (stageId >= FIRST_VERSUS && stageId <= LAST_VERSUS ? stageId : "test");
}

/**
 * The name of the glyph of `characters` that shows a character.
 * @param {number} characterId
 */
export function characterGlyphName(characterId) {
  return Number.isInteger(characterId) && characterId >= 0 && characterId < CHARACTERS ? String(characterId) : "unknown";
}

/** Loads all glyphs, once. */
export function loadGlyphs() {
  loading ??= loadFile("icons/glyphs.json");
  return loading;
}

/**
 * The shape of a character's glyph, or `null` until it is loaded, which is an arrival of `late.js`. An unknown character has none.
 * @param {number} characterId
 * @returns {Shape | null}
 */
export function characterShape(characterId) {
  if (shapes === null) {
    shapes = new Map();
    loadShapes(shapes);
  }
  return shapes.get(characterId) ?? null;
}

/** @param {Map<number, Shape>} loaded */
async function loadShapes(loaded) {
  const { characters } = await loadGlyphs();
  for (let id = 0; id < CHARACTERS; id++) {
    const contours = (characters[id].match(/M[^M]+/g) ?? []).map((contour) => new Path2D(contour));
    loaded.set(id, { whole: new Path2D(characters[id]), contours });
  }
  arrived();
}
