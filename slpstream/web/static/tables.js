/** Tables of names, and other JSON files. The daemon serves the same tables that it reads itself. */

import { Api, Status } from "./api.js";
import { sleep } from "./timing.js";

const RETRY_MS = 2000;
const api = new Api(undefined);

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
  for (;;) {
    try {
      const { status, body } = await api.get(`static/${path}`);
      if (status === Status.OK) {
        return body;
      }
    } catch {
      // The daemon is unreachable at the moment.
    }
    await sleep(RETRY_MS);
  }
}
