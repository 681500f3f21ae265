// Connects @slippi/slippi-js's DolphinConnection to a spectator server: host, port, and number of games.
// Prints a line of JSON with the handshake of the other end, then one for each game: settings, game end and the frames
// parsed up to Game End. Reconnects when the connection ends, with a new parser, because the server then sends the game
// from its beginning. Ends when its standard input ends.

const slippi = require("@slippi/slippi-js/node");
const { frame, isAbsent } = require("./slippi_js_forms.cjs");

const [host, port, maxGames] = process.argv.slice(2);
let games = 0;

const print = (value, then) => {
  isAbsent(value);
  process.stdout.write(JSON.stringify(value) + "\n", then);
};

function connect() {
  const stream = new slippi.SlpStream();
  const parser = new slippi.SlpParser();
  const connection = new slippi.DolphinConnection();

  stream.on(slippi.SlpStreamEvent.COMMAND, ({ command, payload }) => {
    parser.handleCommand(command, payload);
    if (command !== slippi.Command.GAME_END) return;
    games += 1;
    const over = games >= Number(maxGames);
    const frames = Object.values(parser.getFrames()).map(frame);
    print({ settings: parser.getSettings(), gameEnd: payload, frames }, () => over && process.exit(0));
    parser.reset();
  });

  connection.on(slippi.ConnectionEvent.HANDSHAKE, (details) => print({ connected: details }));
  connection.on(slippi.ConnectionEvent.DATA, (data) => stream.process(data));
  connection.on(slippi.ConnectionEvent.ERROR, (error) => print({ error: String(error) }));
  connection.on(slippi.ConnectionEvent.STATUS_CHANGE, (status) => {
    if (status === slippi.ConnectionStatus.DISCONNECTED) setTimeout(connect, 10);
  });
  connection.connect(host, Number(port));
}

process.stdin.resume().on("end", () => process.exit(1));
connect();
