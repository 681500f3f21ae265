/** Names of the attacks, by move id: `moves.json`, which is generated from the daemon's own table. */

import { loadTable } from "../tables.js";

/** @type {Record<string, string>} */
let names = {};

/**
 * Until they are there moves are called by their numbers.
 * @param {() => void} onLoaded
 */
export async function loadMoves(onLoaded) {
  names = await loadTable(new URL("moves.json", import.meta.url));
  onLoaded();
}

/** @param {number | null | undefined} id */
export function moveName(id) {
  return id === undefined || id === null || id === 0 ? "nothing" : (names[id] ?? `Move ${id}`);
}
