/** The colours of players. */

const PORT_COLOURS = ["red", "blue", "yellow", "green"];

/**
 * The name of a player's colour: that of the team, or else of the port.
 * @param {{team: string, port: number}} player
 */
export function colourOf({ team, port }) {
  return team || PORT_COLOURS[port - 1] || "red";
}
