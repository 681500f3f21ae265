// Runs @slippi/slippi-js as a black box: reads a path per line on stdin, and prints its results as a line of JSON.
// The package is looked up in NODE_PATH, or in node_modules next to this file.

const { createInterface } = require("node:readline");
const { SlippiGame } = require("@slippi/slippi-js/node");
const { frame, isAbsent } = require("./slippi_js_forms.cjs");

function read(path) {
  const game = new SlippiGame(path);
  const frames = game.getFrames();
  const results = {
    settings: game.getSettings(),
    metadata: game.getMetadata(),
    gameEnd: game.getGameEnd(),
    winners: game.getWinners(),
    frames: Object.values(frames).map(frame),
  };
  isAbsent(results);
  return results;
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
