/**
 * Finished games and their stats, fetched from the daemon when a scene first asks for them. A request that fails, or returns
 * stats that are not final yet, is repeated: for a minute by itself, and after that whenever the scene draws. A request that
 * the daemon has refused for a minute is not repeated.
 */

import { Status } from "../api.js";
import { gameOf, isOver } from "../listed_game.js";
import { sleep } from "../timing.js";

/**
 * @typedef {import("../slpstream.js").Game} Game
 * @typedef {import("../slpstream_types.js").Stats} Stats
 * @typedef {import("../api.js").Answer} Answer
 * @typedef {{playerIndex: number, startFrame: number, before: number, after: number, damage: number}} TurningPoint
 * @typedef {{value: any, asking: boolean, final: boolean}} Entry
 *     The newest answer, whether a request is pending, and whether the answer is final.
 */

const RETRY_MS = 1500;
const MAX_TRIES = 40;

export class Results {
  #onChange;
  /** @type {Map<string, Entry>} */ #known = new Map();

  /**
   * @param {(path: string) => Promise<Answer>} get  Asks the daemon for a path relative to its root.
   * @param {() => void} onChange  Called when an answer has arrived.
   */
  constructor(get, onChange) {
    this.get = get;
    this.#onChange = onChange;
  }

  /**
   * A game in the form that scenes draw; `null` until it is known. The daemon may list a game whose end it has not recorded
   * yet: that game has no `end`.
   * @param {string} gameId
   * @returns {Game | null}
   */
  game(gameId) {
    return this.#fetched(`v1/games/${encodeURIComponent(gameId)}`, isOver, gameOf);
  }

  /**
   * A game as far as it is known: from the daemon if it has ended there, because only the daemon has the names of earlier
   * sets, and otherwise the current one.
   * @param {string} gameId
   * @param {Game | null} current  The game of the station, as the stream describes it.
   * @returns {Game | null}
   */
  known(gameId, current) {
    const live = current?.gameId === gameId ? current : null;
    if (live !== null && live.end === null) {
      return live;
    }
    const fetched = this.game(gameId);
    return fetched?.end ? fetched : (live ?? fetched);
  }

  /**
   * The final stats of a game; `null` until they are known.
   * @param {string} gameId
   * @returns {Stats | null}
   */
  stats(gameId) {
    const isFinal = (/** @type {any} */ stats) => stats.gameComplete;
    return this.#fetched(`v1/games/${encodeURIComponent(gameId)}/stats`, isFinal, (body) => body);
  }

  /**
   * The largest turning point of a game, with the chances of the player who gained; `null` until it is known, and if there is none.
   * @param {string} gameId
   * @returns {TurningPoint | null}
   */
  turningPoint(gameId) {
    const path = `v1/games/${encodeURIComponent(gameId)}/odds`;
    return this.#fetched(path, ({ final }) => final, ({ turningPoints: [largest = null] }) => largest);
  }

  /**
   * The largest turning point of a station's set, and its game; `null` until it is known, and if there is none.
   * @param {string} station
   * @param {string[]} gameIds  The games of the set.
   * @returns {{gameId: string, turningPoint: TurningPoint} | null}
   */
  turningPointOfSet(station, gameIds) {
    const path = `v1/stations/${encodeURIComponent(station)}/set/turning-points`;
    return this.#fetched(path, ({ final }) => final, ({ turningPoints: [largest = null] }) => largest, [path, ...gameIds].join(" "));
  }

  /**
   * The part `overall` of a game's final stats, by player index; `null` until it is known.
   * @param {string} gameId
   * @returns {Record<string, any>[] | null}
   */
  overall(gameId) {
    const path = `v1/games/${encodeURIComponent(gameId)}/stats`;
    return this.#fetched(path, (stats) => stats.gameComplete, ({ overall = [] }) => overall, `${path} overall`);
  }

  /**
   * The id of a station's newest finished game at the time of the first request; empty without one. A daemon that has just
   * started may not list its games yet, so the request is repeated until it lists one.
   * @param {string} station
   * @returns {string}
   */
  newest(station) {
    const path = `v1/games?station=${encodeURIComponent(station)}&limit=5`;
    const finished = (/** @type {any} */ body) =>
      body.games.find((/** @type {any} */ game) => isOver(game))?.gameId ?? "";
    return this.#fetched(path, (body) => finished(body) !== "", finished) ?? "";
  }

  /**
   * @param {string} path
   * @param {(body: any) => boolean} isFinal  Whether the answer is final.
   * @param {(body: any) => any} convert
   * @param {string} [key]  Under which the answer is kept.
   */
  #fetched(path, isFinal, convert, key = path) {
    let entry = this.#known.get(key);
    if (entry === undefined) {
      entry = { value: null, asking: false, final: false };
      this.#known.set(key, entry);
    }
    if (!entry.asking && !entry.final) {
      this.#load(path, entry, isFinal, convert);
    }
    return entry.value;
  }

  /**
   * @param {string} path
   * @param {Entry} entry
   * @param {(body: any) => boolean} isFinal
   * @param {(body: any) => any} convert
   */
  async #load(path, entry, isFinal, convert) {
    entry.asking = true;
    let refused = false;
    for (let tries = 0; tries < MAX_TRIES && !entry.final; tries++) {
      try {
        const { status, body } = await this.get(path);
        refused = status >= 400 && status < 500;
        if (status === Status.OK) {
          [entry.value, entry.final] = [convert(body), isFinal(body)];
          this.#onChange();
        }
      } catch {
        refused = false; // The daemon is unreachable at the moment.
      }
      if (!entry.final) {
        await sleep(RETRY_MS);
      }
    }
    entry.asking = false;
    entry.final ||= refused;
  }
}
