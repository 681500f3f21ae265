/**
 * A letter or two and a colour for each fighter, our own: for swatches where a game would have a picture.
 */

/** By external character id: what stands in the swatch, and the colour of the first costume. */
const FIGHTERS = /** @type {Readonly<Record<number, readonly [string, string]>>} */ ({
  0: ["CF", "#6b4fa8"],
  1: ["DK", "#8a5a2f"],
  2: ["Fx", "#d98b3a"],
  3: ["GW", "#2f3238"],
  4: ["Kb", "#ff9ec4"],
  5: ["Bw", "#5f9a3d"],
  6: ["Lk", "#4f9d4a"],
  7: ["Lg", "#3fae52"],
  8: ["Ma", "#e0403a"],
  9: ["Mr", "#3f62b5"],
  10: ["M2", "#b7a6cf"],
  11: ["Ns", "#e5493f"],
  12: ["Pe", "#ff8fb8"],
  13: ["Pk", "#ffd83a"],
  14: ["IC", "#6f8fe8"],
  15: ["Jp", "#ffb3cf"],
  16: ["Sa", "#f08a2c"],
  17: ["Ys", "#58c05a"],
  18: ["Ze", "#d78fc6"],
  19: ["Sk", "#5b79b8"],
  20: ["Fa", "#4a6fd0"],
  21: ["YL", "#5fb04e"],
  22: ["Dr", "#e9edf2"],
  23: ["Ry", "#a8382f"],
  24: ["Pi", "#ffe56b"],
  25: ["Ga", "#5c4636"],
  26: ["MH", "#e9e6df"],
  27: ["WM", "#7d8fb0"],
  28: ["WF", "#b07d9d"],
  29: ["GB", "#3c5a2e"],
  30: ["CH", "#d9d2e4"],
  31: ["Sb", "#d9c49a"],
  32: ["Po", "#6f8fe8"],
});

const COSTUMES = /** @type {Readonly<Record<string, string>>} */ ({
  Red: "#e2403b",
  Blue: "#3f7fe8",
  Green: "#3fb65b",
  Yellow: "#f7cf3c",
  Black: "#33363f",
  White: "#eef1f6",
  Orange: "#f28a2e",
  Pink: "#ff8fbf",
  Purple: "#8d5fd3",
  Cyan: "#54cfe0",
  Daisy: "#f3b13c",
  Headband: "#ff8fa8",
  Crown: "#f0c648",
  "Party Hat": "#59b36a",
  "Cowboy Hat": "#b98145",
});

const UNKNOWN = "#8791a5";
/** Above this, letters on a colour are dark. */
const BRIGHT = 150;

/**
 * @param {number} characterId  External id.
 * @param {string} costume      Its name; `Default` or empty is the first.
 * @returns {{letters: string, colour: string, ink: string}} Colours for CSS; `ink` can be read on `colour`.
 */
export function swatch(characterId, costume) {
  const [letters, first] = FIGHTERS[characterId] ?? ["?", UNKNOWN];
  const colour = COSTUMES[costume] ?? first;
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return { letters, colour, ink: 0.3 * red + 0.59 * green + 0.11 * blue > BRIGHT ? "#10131a" : "#ffffff" };
}
