// An independent client that uses only the documented protocol and npm's `ws`. It follows a station without loss, breaks
// the connection off after `stopAfter` messages, reconnects with the last cursor, and prints every log message.
// Arguments: URL of the websocket, station, stopAfter.

const WebSocket = require("ws");

const [, , url, station, stopAfter] = process.argv;
let cursor = "start";
let connections = 0;

function follow() {
  connections += 1;
  let received = 0;
  const socket = new WebSocket(url, "slpstream.v1.json");
  socket.on("open", () =>
    socket.send(
      JSON.stringify({
        op: "subscribe",
        stations: [station],
        topics: ["game", "frame", "event", "stats", "diagnostic"],
        delivery: "lossless",
        cursor,
      }),
    ),
  );
  socket.on("message", (data) => {
    const line = data.toString();
    const message = JSON.parse(line);
    if (message.cursor === undefined || message.type === "snapshot" || received === Number(stopAfter)) {
      return; // a status message, or one that arrived after the connection was broken off
    }
    cursor = message.cursor;
    received += 1;
    process.stdout.write(`${line}\n`);
    if (message.metadata !== undefined) {
      console.error(JSON.stringify({ connections }));
      process.exit(0);
    }
    if (received === Number(stopAfter)) {
      socket.terminate(); // as a crash would
    }
  });
  socket.on("close", () => follow());
  socket.on("error", (error) => console.error(String(error)));
}

follow();
