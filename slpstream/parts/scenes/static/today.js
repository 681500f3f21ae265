/** The games of the last hours at all stations, fetched from the daemon. It does not touch the page. */

import { Status } from "../api.js";
import { isOver } from "../listed_game.js";
import { FORMAT } from "../slippi.js";
import { sleep } from "../timing.js";
import { splitName } from "./people.js";

/**
 * @typedef {import("./people.js").Person} Person
 * @typedef {{gameId: string, characterId: number, costumeIndex: number, index: number, won: boolean}} PlayedGame
 */

const HOURS = 12;
const PAGE = 200;
const MAX_PAGES = 10;
const RETRY_MS = 1500;
const MAX_TRIES = 20;

export class Today {
  #get;
  #onChange;
  /** By id. @type {Map<string, Record<string, any>>} */ #games = new Map();
  /** The game after which the games were asked for. @type {string | null | undefined} */ #asked;

  /**
   * @param {(path: string) => Promise<import("../api.js").Answer>} get
   * @param {() => void} onChange  Called when games have arrived.
   */
  constructor(get, onChange) {
    this.#get = get;
    this.#onChange = onChange;
  }

  /**
   * Asks for the games that have ended since the last time, after each game of the station.
   * @param {string | null} lastGameId  The last finished game of the station.
   */
  follow(lastGameId) {
    if (this.#asked !== lastGameId) {
      this.#asked = lastGameId;
      this.#load(lastGameId);
    }
  }

  /**
   * The games that a player has finished, the newest first. Players are recognised by connect code, or else by name.
   * @param {Person} person
   * @returns {PlayedGame[]}
   */
  gamesOf({ connectCode, tag }) {
    const games = [...this.#games.values()].sort((a, b) => (a.endedAt < b.endedAt ? 1 : -1));
    return games.flatMap(({ gameId, players, winners = [] }) => {
      const found = players.find((/** @type {Record<string, any>} */ player) =>
        connectCode && player.code ? player.code === connectCode : tag !== "" && splitName(player.name ?? "").tag === tag,
      );
      return found === undefined
        ? []
        : [{
          gameId,
          characterId: found.character ?? -1,
          costumeIndex: found.color ?? 0,
          index: found.index,
          won: winners.includes(found.index),
        }];
    });
  }

  /** @param {string | null} lastGameId */
  async #load(lastGameId) {
    for (let tries = 0; tries < MAX_TRIES && this.#asked === lastGameId; tries++) {
      try {
        await this.#loadPages();
        if (lastGameId === null || this.#games.has(lastGameId)) {
          return;
        }
      } catch {
        // The daemon is unreachable at the moment.
      }
      await sleep(RETRY_MS);
    }
  }

  async #loadPages() {
    const newest = [...this.#games.values()].map(({ endedAt }) => endedAt).sort().pop();
    const since = newest ?? new Date(Date.now() - HOURS * 3_600_000).toISOString();
    let cursor = "";
    for (let i = 0; i < MAX_PAGES; i++) {
      const { status, body } = await this.#get(`v1/games?format=${FORMAT}&order=ended&since=${encodeURIComponent(since)}&limit=${PAGE}${cursor}`);
      if (status !== Status.OK) {
        return;
      }
      for (const game of body.games.filter(isOver)) {
        this.#games.set(game.gameId, game);
      }
      this.#onChange();
      if (!body.next) {
        return;
      }
      cursor = `&cursor=${encodeURIComponent(body.next)}`;
    }
  }
}
