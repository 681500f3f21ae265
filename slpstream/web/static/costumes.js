/** Swatches: a letter or two on a colour for each character, where a game would show a picture. */

import { swatchColours } from "./slippi.js";

const UNKNOWN = { letters: "?", colour: "#8791a5" };
/** Letters on a brighter colour are dark. */
const BRIGHT = 150;

/**
 * @param {number} characterId  External id.
 * @param {string} costume      Name of the costume. `Default` and an unknown costume have the character's own colour.
 * @returns {{letters: string, colour: string, ink: string}} CSS colours; `ink` is readable on `colour`.
 */
export function swatch(characterId, costume) {
  const { characters, costumes } = swatchColours();
  const { letters, colour: own } = characters[characterId] ?? UNKNOWN;
  const colour = costumes[costume]?.colour ?? own;
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return { letters, colour, ink: 0.3 * red + 0.59 * green + 0.11 * blue > BRIGHT ? "#10131a" : "#ffffff" };
}
