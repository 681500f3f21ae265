/**
 * Pictures of characters and stages: the user's own if they exist, otherwise the bundled glyphs. Also the user's logos of
 * sponsors.
 *
 * They are decoration next to a name, so screen readers skip them. The page includes `icons/icons.css` and loads the names with
 * `loadNames` first, for the colours of the costumes.
 */

import { ROOT } from "../api.js";
import { swatch } from "../costumes.js";
import { arrived } from "../late.js";
import { costumeName } from "../slippi.js";
import { loadFile } from "../tables.js";
import { sleep } from "../timing.js";
import { characterGlyphName, loadGlyphs, stageGlyph } from "./glyphs.js";

/**
 * Paths below `/custom/`.
 * @typedef {object} OwnPictures
 * @property {Record<string, Record<string, string>>} icons      By external character id and costume index.
 * @property {Record<string, Record<string, string>>} portraits  The same for large pictures.
 * @property {Record<string, string>} stages                     By stage id.
 * @property {Record<string, string>} [sponsors]                 Logos by the name of the sponsor.
 */

const SVG = "http://www.w3.org/2000/svg";
/** A page starts without the user's pictures if their list takes longer, and draws again when it arrives. */
const MAX_WAIT_MS = 1000;

/** @type {OwnPictures} */
let own = { icons: {}, portraits: {}, stages: {} };
await Promise.race([listOwn(), sleep(MAX_WAIT_MS)]);

async function listOwn() {
  own = await loadFile("icons/own.json");
  arrived();
}

/**
 * A square picture of a character. A glyph is drawn in `--glyph-ink` on `--glyph-ground`: by default the colour of the
 * costume, and black or white on it. `--glyph-port` is the colour of its border, by default none.
 * @param {number} characterId   External id. An unknown one is shown as a question mark.
 * @param {number} costumeIndex  If the user has no picture of this costume, that of the default costume is shown.
 * @returns {HTMLElement}
 */
export function characterPicture(characterId, costumeIndex) {
  const file = ownOf(own.icons, characterId, costumeIndex);
  const glyph = () => characterGlyph(characterId, costumeIndex);
  return file === undefined ? glyph() : ownPicture("character-picture", file, glyph);
}

/**
 * A large picture of a character. Without an own one, it is the same as `characterPicture`.
 * @param {number} characterId   External id.
 * @param {number} costumeIndex
 * @returns {HTMLElement}
 */
export function portraitPicture(characterId, costumeIndex) {
  const file = ownOf(own.portraits, characterId, costumeIndex);
  const small = () => characterPicture(characterId, costumeIndex);
  return file === undefined ? small() : ownPicture("portrait-picture", file, small);
}

/**
 * A picture of a stage, 16 by 9. The glyph has the text's colour.
 * @param {number} stageId  An unknown one is shown as a question mark.
 * @returns {HTMLElement}
 */
export function stagePicture(stageId) {
  const file = own.stages[stageId];
  const drawn = () => glyphPicture("stage-picture", "stages", stageGlyph(stageId), "0 0 64 36");
  return file === undefined ? drawn() : ownPicture("stage-picture", file, drawn);
}

/** The names of the sponsors with a logo, in alphabetical order. */
export function sponsorsWithLogo() {
  return Object.keys(own.sponsors ?? {});
}

/**
 * The logo of a sponsor; `null` if the user has none.
 * @param {string} sponsor  Capitals, spaces and punctuation do not matter.
 * @returns {HTMLImageElement | null}
 */
export function sponsorLogo(sponsor) {
  const wanted = plainName(sponsor);
  const [, file] = Object.entries(own.sponsors ?? {}).find(([name]) => plainName(name) === wanted) ?? [];
  if (wanted === "" || file === undefined) {
    return null;
  }
  const image = document.createElement("img");
  image.alt = sponsor;
  image.src = new URL(`custom/${file}`, ROOT).href;
  return image;
}

/** @param {string} name */
function plainName(name) {
  return name.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/**
 * @param {number} characterId
 * @param {number} costumeIndex
 */
function characterGlyph(characterId, costumeIndex) {
  const picture = glyphPicture("character-picture", "characters", characterGlyphName(characterId), "0 0 64 64");
  const { colour, ink } = swatch(characterId, costumeName(characterId, costumeIndex));
  picture.style.setProperty("--costume", colour);
  picture.style.setProperty("--costume-ink", ink);
  return picture;
}

/**
 * @param {Record<string, Record<string, string>>} pictures
 * @param {number} characterId
 * @param {number} costumeIndex
 * @returns {string | undefined}
 */
function ownOf(pictures, characterId, costumeIndex) {
  const ofCharacter = pictures[characterId];
  return ofCharacter?.[costumeIndex] ?? ofCharacter?.[0];
}

/**
 * @param {string} kind  Class of the element.
 * @param {"characters" | "stages"} folder
 * @param {number | string} name
 * @param {string} viewBox
 */
function glyphPicture(kind, folder, name, viewBox) {
  const picture = document.createElement("span");
  picture.className = `${kind} glyph`;
  picture.setAttribute("aria-hidden", "true");
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", viewBox);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("fill", "currentColor");
  loadGlyphs().then((glyphs) => path.setAttribute("d", glyphs[folder][name]));
  drawing.append(path);
  picture.append(drawing);
  return picture;
}

/**
 * @param {string} kind
 * @param {string} file
 * @param {() => HTMLElement} instead  Makes the picture for a file that has been removed since the page was loaded.
 */
function ownPicture(kind, file, instead) {
  const picture = document.createElement("span");
  picture.className = kind;
  const image = document.createElement("img");
  image.alt = "";
  image.src = new URL(`custom/${file}`, ROOT).href;
  image.addEventListener("error", () => picture.replaceWith(instead()), { once: true });
  picture.append(image);
  return picture;
}
