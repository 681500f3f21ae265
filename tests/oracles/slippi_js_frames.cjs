// Runs @slippi/slippi-js as a black box: a path a line on stdin, what it says of that replay as one line of JSON on stdout.
// The package is looked up in NODE_PATH, or in node_modules beside this file.
//
// What is absent, null or NaN is left out, and so is an object of nothing but such (the speeds of old replays). Arrays with
// holes (players, followers) become objects keyed by index, so that a hole is not a null.

const { createInterface } = require("node:readline");
const { SlippiGame } = require("@slippi/slippi-js/node");

// Whether a value says nothing; deletes what says nothing inside it.
function isAbsent(value) {
  if (value == null || Number.isNaN(value)) return true;
  if (typeof value !== "object") return false;
  if (Array.isArray(value)) {
    value.forEach(isAbsent);
    return false;
  }
  const keys = Object.keys(value);
  for (const key of keys) if (isAbsent(value[key])) delete value[key];
  return keys.length > 0 && Object.keys(value).length === 0;
}

const keyed = (list) => list && Object.fromEntries(Object.entries(list).filter(([, value]) => value != null));

function frame(entry) {
  const { isTransferComplete, players, followers, ...rest } = entry;
  return { ...rest, players: keyed(players), followers: keyed(followers) };
}

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
