/** The tables of names that the daemon serves beside the pages: the very files that the daemon itself reads. */

const RETRY_MS = 2000;

/**
 * Loads one file of tables, `names/FORMAT/FILE.json`. It tries again until it succeeds.
 * @param {string} format
 * @param {string} file
 * @returns {Promise<any>}
 */
export async function loadTables(format, file) {
  const url = new URL(`names/${format}/${file}.json`, import.meta.url);
  for (;;) {
    try {
      const response = await fetch(url);
      if (response.ok) {
        return await response.json();
      }
    } catch {
      // The daemon cannot be reached at the moment.
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
