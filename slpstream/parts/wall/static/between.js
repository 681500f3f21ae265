/** What a tile says of a set between its games. It does not touch the page. */

import { text } from "../texts/texts.js";

/** @typedef {import("../slpstream_types.js").SetScore} SetScore */

const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;
const DAY_MINUTES = 24 * HOUR_MINUTES;
const MANY_MINUTES = 5;

/**
 * The set that is announced for a station; `null` if there is none, or if its players have no names yet.
 * @param {SetScore | null} set  The newest set of the station.
 */
export function announcedSet(set) {
  return set?.state === "upcoming" && set.players.some(({ name }) => name) ? set : null;
}

/**
 * What comes next at a station that plays no game; empty if that is unknown.
 * @param {SetScore | null} set
 */
export function nextText(set) {
  if (set === null || set.crewBattle !== undefined) {
    return "";
  }
  if (set.state !== "running") {
    return text(set.state === "over" ? "wall.set_over" : "wall.up_next");
  }
  const played = (set.games ?? []).filter(({ counts, verdict }) => counts && verdict !== "playing").length;
  return text("wall.next_game", { game: played + (set.olderGames ?? 0) + 1 });
}

/**
 * For how long a station has been idle, in minutes; `null` in the first minute, after a day, and if it is unknown.
 * @param {string} since  When its last game ended; empty if unknown.
 * @param {number} nowMs
 */
export function idleMinutes(since, nowMs) {
  const minutes = Math.floor((nowMs - Date.parse(since)) / MINUTE_MS);
  return minutes >= 1 && minutes < DAY_MINUTES ? minutes : null;
}

/** Whether somebody should look at a station that has been idle for so long. @param {number | null} minutes */
export function isLong(minutes) {
  return minutes !== null && minutes >= MANY_MINUTES;
}

/** @param {number | null} minutes */
export function idleText(minutes) {
  if (minutes === null) {
    return "";
  }
  return minutes < HOUR_MINUTES
    ? text("wall.minutes", { minutes })
    : text("wall.hours", { hours: Math.floor(minutes / HOUR_MINUTES) });
}
