// Runs @slippi/slippi-js as a black box: reads a path per line on stdin, and prints its stats as a line of JSON:
// `stats` (getStats), `stadiumStats` (getStadiumStats), or `error`.
// The package is looked up in NODE_PATH, or in node_modules next to this file.
//
// As usual in JSON, undefined values are omitted; NaN and infinities are null.

const { createInterface } = require("node:readline");
const { SlippiGame } = require("@slippi/slippi-js/node");

function read(path) {
  const game = new SlippiGame(path);
  if (game.getSettings() == null) return { error: "no settings" };
  return { stats: game.getStats(), stadiumStats: game.getStadiumStats() };
}

createInterface({ input: process.stdin }).on("line", (path) => {
  let results;
  try {
    results = read(path);
  } catch (error) {
    results = { error: String(error) };
  }
  process.stdout.write(JSON.stringify(results) + "\n");
});
