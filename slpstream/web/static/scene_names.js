/** The names of the scenes, as they are in addresses. */

/** The scenes of one station. */
export const STATION_SCENES = Object.freeze(
  /** @type {const} */ ([
    "live", "versus", "matchup", "player", "game-result", "set-result", "highlights", "up-next", "replay", "controller", "casters",
  ]),
);
/** The scene of all stations. */
export const TICKER = "ticker";
export const SCENES = Object.freeze(/** @type {const} */ ([...STATION_SCENES, TICKER]));
