/** English: the table that the others are compared with. @type {import("../../texts/texts.js").Table} */
export default {
  "director.stations": "Stations",
  "director.off": "No director is configured",
  "director.none": "None of the director's stations exists yet",
  "director.up_next": "Up next",
  "director.next_game": "Game {game} next",
  "director.set_over": "Set over",
};
