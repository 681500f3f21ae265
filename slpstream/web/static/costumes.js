/** Swatches: one or two letters on a colour, instead of a picture of the character. */

import { swatchColours } from "./slippi.js";

const UNKNOWN = { letters: "?", colour: "#8791a5" };
/** Letters on colours with a higher luma are dark. */
const MAX_DARK_LUMA = 150;

/**
 * @param {number} characterId  External id.
 * @param {string} costume      Name of the costume. A costume without a colour has that of the character.
 * @returns {{letters: string, colour: string, ink: string}} CSS colours; `ink` is readable on `colour`.
 */
export function swatch(characterId, costume) {
  const { characters, costumes } = swatchColours();
  const { letters, colour: own } = characters[characterId] ?? UNKNOWN;
  const colour = costumes[costume]?.colour ?? own;
  const [red, green, blue] = [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
  return { letters, colour, ink: 0.3 * red + 0.59 * green + 0.11 * blue > MAX_DARK_LUMA ? "#10131a" : "#ffffff" };
}
