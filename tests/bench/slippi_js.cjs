// @slippi/slippi-js as a peer: its SlpStream and SlpParser, used as in its own examples, as a black box.
//
// `decode FILE ROUNDS`: CPU time of each round over the whole file, fed in blocks of 4,096 bytes, without encoding.
// `stats FILE ROUNDS`: time of each round of a whole game's stats from a buffer.
// `follow FILE`: reads a growing file on notifications until stdin ends, then prints CPU time and number of frames.
// All times are in microseconds.
//
// The package is looked up in NODE_PATH.

const fs = require("node:fs");
const { SlippiGame, SlpStream, SlpParser, SlpStreamEvent, SlpStreamMode } = require("@slippi/slippi-js/node");

const HEADER_BYTES = 15;
const BLOCK_BYTES = 4096;

function reader() {
  const stream = new SlpStream({ mode: SlpStreamMode.MANUAL });
  const parser = new SlpParser();
  stream.on(SlpStreamEvent.COMMAND, ({ command, payload }) => parser.handleCommand(command, payload));
  return { stream, parser };
}

function decode(path, rounds) {
  const data = fs.readFileSync(path);
  const end = HEADER_BYTES + data.readUInt32BE(11);
  const microseconds = [];
  for (let round = 0; round < rounds; round++) {
    const { stream } = reader();
    const began = process.cpuUsage();
    for (let start = HEADER_BYTES; start < end; start += BLOCK_BYTES) {
      stream.process(data.subarray(start, Math.min(start + BLOCK_BYTES, end)));
    }
    const used = process.cpuUsage(began);
    microseconds.push(used.user + used.system);
  }
  console.log(JSON.stringify({ microseconds }));
}

function whole(path, rounds, compute) {
  const data = fs.readFileSync(path);
  const microseconds = [];
  for (let round = 0; round < rounds; round++) {
    const began = process.hrtime.bigint();
    compute(new SlippiGame(data));
    microseconds.push(Number(process.hrtime.bigint() - began) / 1e3);
  }
  console.log(JSON.stringify({ microseconds }));
}

function follow(path) {
  const { stream, parser } = reader();
  const file = fs.openSync(path, "r");
  const block = Buffer.alloc(1 << 16);
  let offset = HEADER_BYTES;
  const began = process.cpuUsage();
  const read = () => {
    for (;;) {
      const count = fs.readSync(file, block, 0, block.length, offset);
      if (count === 0) return;
      offset += count;
      stream.process(Uint8Array.prototype.slice.call(block, 0, count));
    }
  };
  const watcher = fs.watch(path, read);
  read();
  process.stdin.resume().on("end", () => {
    watcher.close();
    const used = process.cpuUsage(began);
    console.log(JSON.stringify({ microseconds: used.user + used.system, frames: parser.getLatestFrameNumber() + 124 }));
    fs.closeSync(file);
  });
}

const [mode, path, rounds] = process.argv.slice(2);
if (mode === "decode") decode(path, Number(rounds));
else if (mode === "stats") whole(path, Number(rounds), (game) => game.getStats());
else follow(path);
