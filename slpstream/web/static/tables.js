/** Tables of names, and other JSON files. The daemon serves the same tables that it reads itself. */

import { Api, Status } from "./api.js";
import { sleep } from "./timing.js";

const RETRY_MS = 2000;
const api = new Api(undefined);


/** A combined script has the tables that its modules load. @type {Record<string, any>} */
const present = /** @type {ImportMeta & {tables?: object}} */ (import.meta).tables ?? {};

/**
 * Loads a JSON file, and retries until that succeeds. Name it with its whole path, as in `"names/slippi/stages.json"`.
 * @param {string} path  Below `/static/`.
 * @returns {Promise<any>}
 */
export async function loadFile(path) {
  if (Object.hasOwn(present, path)) {
    return present[path];
  }
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
