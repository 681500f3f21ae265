// Runs @slippi/slippi-js as a black box: a path a line on stdin, its stats of that replay as one line of JSON on stdout:
// `stats` (getStats), `stadiumStats` (getStadiumStats), or `error`.
// The package is looked up in NODE_PATH, or in node_modules beside this file.
//
// What is undefined is left out, as JSON has it; null, NaN and infinities are null.

const { createInterface } = require("node:readline");
const { SlippiGame } = require("@slippi/slippi-js/node");

function look(path) {
  const game = new SlippiGame(path);
  if (game.getSettings() == null) return { error: "no settings" };
  return { stats: game.getStats(), stadiumStats: game.getStadiumStats() };
}

createInterface({ input: process.stdin }).on("line", (path) => {
  let said;
  try {
    said = look(path);
  } catch (error) {
    said = { error: String(error) };
  }
  process.stdout.write(JSON.stringify(said) + "\n");
});
