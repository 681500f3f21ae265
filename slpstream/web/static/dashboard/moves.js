/** Names of the attacks, by move id: `moves.json`, which is generated from the daemon's own table. */

const RETRY_MS = 2000;

/** @type {Record<string, string>} */
let names = {};

/**
 * Tries again until it succeeds; until then moves are called by their numbers.
 * @param {() => void} onLoaded
 */
export async function loadMoves(onLoaded) {
  try {
    const answer = await fetch(new URL("moves.json", import.meta.url));
    if (!answer.ok) {
      throw new Error(`moves.json: ${answer.status}`);
    }
    names = await answer.json();
    onLoaded();
  } catch {
    setTimeout(() => loadMoves(onLoaded), RETRY_MS);
  }
}

/** @param {number | null | undefined} id */
export function moveName(id) {
  return id === undefined || id === null || id === 0 ? "nothing" : (names[id] ?? `Move ${id}`);
}
