/** Tables of names, and other JSON files. The daemon serves the same tables that it reads itself. */

const RETRY_MS = 2000;

/**
 * Loads the file `names/FORMAT/FILE.json`, and retries until that succeeds.
 * @param {string} format
 * @param {string} file
 * @returns {Promise<any>}
 */
export function loadTables(format, file) {
  return loadFile(`names/${format}/${file}.json`);
}

/**
 * Loads a JSON file, and retries until that succeeds.
 * @param {string} path  Below `/static/`.
 * @returns {Promise<any>}
 */
export async function loadFile(path) {
  const url = new URL(path, import.meta.url);
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
