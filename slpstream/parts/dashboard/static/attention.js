/** Which stations need attention. */

/** Lag from which a station needs attention. */
const MAX_LAG_SECONDS = 1;

/**
 * How much attention a station needs: 0 if all is well, 1 for something that can wait, 2 for something urgent.
 * @param {Record<string, any>} station   As `/v1/stations` describes it.
 * @param {string} state
 * @param {number | undefined} lagSeconds
 */
export function attentionOf(station, state, lagSeconds) {
  if (state === "offline" || state === "stalled") {
    return 2;
  }
  if (state === "starting") {
    return 0;
  }
  if (state === "playing" && (lagSeconds ?? 0) > MAX_LAG_SECONDS) {
    return 2;
  }
  return remarkOf(station) !== "" ? 2 : station.degraded || isAbandoned(station, state) ? 1 : 0;
}

/** The daemon's reason after a game without an end. */
export const ABANDONED = "the file has not grown for long";

/**
 * Whether the last game of a station has stopped in the middle, and no other one has begun since.
 * @param {Record<string, any>} station
 * @param {string} state
 */
export function isAbandoned({ reason = "" }, state) {
  return state === "idle" && reason === ABANDONED;
}

/**
 * The daemon's remark on a state in addition to the reason, for example that the game is not recorded; empty without one.
 * @param {Record<string, any>} station
 */
export function remarkOf({ reason = "" }) {
  const at = reason.indexOf("; ");
  return at === -1 ? "" : reason.slice(at + 2);
}
