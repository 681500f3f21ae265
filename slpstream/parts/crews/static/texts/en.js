/** English: the table that the others are compared with. @type {import("../../texts/texts.js").Table} */
export default {
  "crews.battle": "Crew battle",
  "crews.name": "Crew {number}",
  "crews.stocks": "Stocks",
  "crews.stocks_of": "Stocks of crew {number}",
  "crews.player_stocks": "Stocks per player",
  "crews.begin": "Make this set a crew battle",
  "crews.change": "Change the crews",
  "crews.end": "Back to a normal set",
};
