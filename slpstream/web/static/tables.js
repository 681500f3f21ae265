/** Tables of names. The daemon serves the same files that it reads itself. */

const RETRY_MS = 2000;

/**
 * Loads the file `names/FORMAT/FILE.json`, and retries until that succeeds.
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
      // The daemon is unreachable at the moment.
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
