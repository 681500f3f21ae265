// Runs @slippi/slippi-js as a black box: a path a line on stdin, what it says of that replay as one line of JSON on stdout.
// The package is looked up in NODE_PATH, or in node_modules beside this file.

const { createInterface } = require("node:readline");
const { SlippiGame } = require("@slippi/slippi-js/node");
const { frame, isAbsent } = require("./slippi_js_forms.cjs");

function look(path) {
  const game = new SlippiGame(path);
  const frames = game.getFrames();
  const said = {
    settings: game.getSettings(),
    metadata: game.getMetadata(),
    gameEnd: game.getGameEnd(),
    winners: game.getWinners(),
    frames: Object.values(frames).map(frame),
  };
  isAbsent(said);
  return said;
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
