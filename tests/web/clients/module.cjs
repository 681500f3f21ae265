// `slpstream.js` in node: follows a station until the metadata of its game, through any interruption of the daemon.
// Arguments: file URL of the module, URL of the daemon, station.

const WebSocket = require("ws");

const [, , moduleUrl, base, station] = process.argv;

import(moduleUrl).then(({ connect }) => {
  const client = connect({
    base,
    WebSocket,
    stations: [station],
    topics: ["game", "frame", "event", "stats"],
    delivery: "lossless",
    cursor: "start",
  });
  const counts = {};
  const states = [];
  const cursors = [];
  for (const type of ["frame", "finalized", "event", "stats", "game_start", "game_end", "reset"]) {
    counts[type] = 0;
    client.on(type, () => (counts[type] += 1));
  }
  client.on("connection", (state) => {
    states.push(state);
    if (state === "open") {
      console.log("open");
    }
  });
  client.on("message", (message) => {
    if (message.cursor !== undefined && message.type !== "snapshot") {
      cursors.push(message.cursor);
    }
  });
  const stop = client.on("frame", ({ frame }) => {
    if (frame.frame > 0) {
      console.log("playing");
      stop();
    }
  });
  client.on("metadata", () => {
    const saved = client.cursors[station];
    client.close();
    console.log(JSON.stringify({ counts, states, cursors, saved, version: client.version }));
  });
});
