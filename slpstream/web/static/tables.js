/** Tables that the daemon generates from its own and serves as files. */

const RETRY_MS = 2000;

/**
 * Asks again until it succeeds.
 * @param {URL} url
 * @returns {Promise<any>}
 */
export async function loadTable(url) {
  for (;;) {
    try {
      const answer = await fetch(url);
      if (answer.ok) {
        return await answer.json();
      }
    } catch {
      // The daemon is not there at present.
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
