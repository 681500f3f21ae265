/** Names of the attacks, by move id. */

import { arrived } from "./late.js";
import { loadFile } from "./tables.js";
import { localName } from "./texts/names.js";
import { text } from "./texts/texts.js";

/** @type {Record<string, {name: string}>} */
let attacks = {};

/** Loads the names. Until then, attacks are shown with their ids. */
export async function loadAttackNames() {
  attacks = (await loadFile("names/slippi/moves.json")).rows;
  arrived();
}

/** @param {number | null | undefined} id  0 means no attack. */
export function attackName(id) {
  if (id === undefined || id === null || id === 0) {
    return text("attack.none");
  }
  return localName("moves", id) ?? attacks[id]?.name ?? text("attack.unknown", { id: String(id) });
}
