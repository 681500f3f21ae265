// Connects @slippi/slippi-js's ConsoleConnection to a console or relay: host, port, and number of games.
// Prints a line of JSON with the handshake of the other end, then one for each game: settings, game end and the frames
// parsed up to Game End. With `handshake CURSOR TOKEN` it prints the bytes of its own handshake in hexadecimal.

const slippi = require("@slippi/slippi-js/node");
const { frame, isAbsent } = require("./slippi_js_forms.cjs");

const print = (value, then) => {
  isAbsent(value);
  process.stdout.write(JSON.stringify(value) + "\n", then);
};

function connect(host, port, maxGames) {
  const stream = new slippi.SlpStream();
  const parser = new slippi.SlpParser();
  const connection = new slippi.ConsoleConnection({ autoReconnect: true });
  let games = 0;

  stream.on(slippi.SlpStreamEvent.COMMAND, ({ command, payload }) => {
    parser.handleCommand(command, payload);
    if (command !== slippi.Command.GAME_END) return;
    games += 1;
    const over = games >= maxGames;
    const frames = Object.values(parser.getFrames()).map(frame);
    print({ settings: parser.getSettings(), gameEnd: payload, frames }, () => over && process.exit(0));
    parser.reset();
    if (over) connection.disconnect();
  });

  connection.on(slippi.ConnectionEvent.HANDSHAKE, (details) => print({ connected: details }));
  connection.on(slippi.ConnectionEvent.DATA, (data) => stream.process(data));
  connection.on(slippi.ConnectionEvent.ERROR, (error) => print({ error: String(error) }));
  connection.connect(host, port, true);
}

const [first, second, third] = process.argv.slice(2);
if (first === "handshake") {
  const cursor = Uint8Array.from(Buffer.from(BigInt(second).toString(16).padStart(16, "0"), "hex"));
  const communication = new slippi.ConsoleCommunication();
  process.stdout.write(communication.genHandshakeOut(cursor, Number(third), true).toString("hex"));
} else {
  connect(first, Number(second), Number(third));
}
