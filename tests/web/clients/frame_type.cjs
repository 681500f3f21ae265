// Typical code for slippi-js's `FrameEntryType` and `GameStartType`, run on frames of slippi-js itself (arguments
// `replay FILE`) and on slpstream's (argument `lines`, with JSON lines of the stream on standard input). `summary` is
// equal for both.

function summary(settings, frames) {
  const players = settings.players.map(({ playerIndex, port, characterId, characterColor }) => {
    const about = { port, characterId, characterColor, presses: 0, failedLCancels: 0, highest: 0, travelled: 0, followed: 0 };
    let before = null;
    for (const frame of frames) {
      const { pre, post } = frame.players[playerIndex] ?? {};
      if (!pre || !post) {
        continue;
      }
      about.followed += frame.followers?.[playerIndex] ? 1 : 0;
      about.presses += before && pre.physicalButtons & ~before.pre.physicalButtons & 0xf00 ? 1 : 0;
      about.failedLCancels += post.lCancelStatus === 2 && before?.post.lCancelStatus !== 2 ? 1 : 0;
      about.highest = Math.max(about.highest, post.percent);
      about.travelled += before ? Math.hypot(post.positionX - before.post.positionX, post.positionY - before.post.positionY) : 0;
      about.stocks = post.stocksRemaining;
      about.speed = post.selfInducedSpeeds?.airX ?? null;
      before = { pre, post };
    }
    return about;
  });
  const items = frames.reduce((sum, frame) => sum + (frame.items ?? []).length, 0);
  const [first, last] = [frames[0].frame, frames[frames.length - 1].frame];
  return { stageId: settings.stageId, isTeams: settings.isTeams, first, last, items, seed: frames[0].start?.seed, players };
}

const [, , from, file] = process.argv;
if (from === "replay") {
  const { SlippiGame } = require("@slippi/slippi-js/node");
  const game = new SlippiGame(file);
  const frames = Object.values(game.getFrames()).sort((a, b) => a.frame - b.frame);
  console.log(JSON.stringify(summary(game.getSettings(), frames)));
} else {
  const lines = require("fs").readFileSync(0, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  const { settings } = lines.find(({ type }) => type === "game_start");
  const frames = lines.filter(({ type }) => type === "frame").map(({ frame }) => frame);
  console.log(JSON.stringify(summary(settings, frames)));
}
