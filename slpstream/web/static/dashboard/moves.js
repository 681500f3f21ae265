/** Names of the attacks, by move id. */

import { loadTables } from "../tables.js";

/** @type {Record<string, {name: string}>} */
let moves = {};

/**
 * Loads the names. Until then attacks are called by their numbers.
 * @param {() => void} onLoaded
 */
export async function loadMoves(onLoaded) {
  moves = (await loadTables("slippi", "moves")).rows;
  onLoaded();
}

/** @param {number | null | undefined} id */
export function moveName(id) {
  return id === undefined || id === null || id === 0 ? "nothing" : (moves[id]?.name ?? `Move ${id}`);
}
