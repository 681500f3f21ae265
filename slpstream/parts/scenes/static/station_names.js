/** The display names of stations. The daemon is asked again when a station without a known name appears, and every minute. */

import { Status } from "../api.js";
import { isExample } from "./page.js";

const REFRESH_MS = 60_000;
const RETRY_MS = 5000;

export class StationNames {
  #api;
  #onChange;
  /** @type {Map<string, string>} */ #names = new Map();
  #askedAt = -Infinity;

  /**
   * @param {import("../api.js").Api} api
   * @param {() => void} onChange  Called when names have changed.
   */
  constructor(api, onChange) {
    this.#api = api;
    this.#onChange = onChange;
  }

  /**
   * The name of a station; its id until the name is known.
   * @param {string} station
   */
  of(station) {
    const name = this.#names.get(station);
    if (!isExample && performance.now() - this.#askedAt > (name === undefined ? RETRY_MS : REFRESH_MS)) {
      this.#askedAt = performance.now();
      this.#load();
    }
    return name ?? station;
  }

  async #load() {
    try {
      const { status, body } = await this.#api.get("v1/stations");
      if (status === Status.OK) {
        this.#names = new Map(body.stations.map((/** @type {any} */ { id, name }) => [id, name]));
        this.#onChange();
      }
    } catch {
      // The daemon is unreachable at the moment.
    }
  }
}
