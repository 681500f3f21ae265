"""Bytes to encoded JSON message: CPU time a frame, beside slippi-js's stream and parser in the same run."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from slpstream.pipeline import Pipeline
from slpstream.slippi.reader import SlippiReader
from tests.bench.games import replays
from tests.bench.report import Figure
from tests.oracles.slippi_js import MODULES

TARGET_MICROSECONDS = 10.0
_PIECE_BYTES = 4096
_PEER = """
const {SlpStream, SlpParser, SlpStreamEvent} = require(process.argv[1]);
const fs = require("fs");
const data = fs.readFileSync(process.argv[2]), rounds = Number(process.argv[3]);
const start = 15, length = data.readUInt32BE(11);
let best = Infinity, frames = 0;
for (let round = 0; round < rounds; round++) {
  const stream = new SlpStream({mode: "MANUAL"}), parser = new SlpParser();
  frames = 0;
  stream.on(SlpStreamEvent.COMMAND, ({command, payload}) => parser.handleCommand(command, payload));
  parser.on("end-frame", () => {});
  const began = process.cpuUsage();
  for (let at = start; at < start + length; at += 4096) {
    stream.process(data.subarray(at, Math.min(at + 4096, start + length)));
  }
  const used = process.cpuUsage(began);
  best = Math.min(best, used.user + used.system);
  frames = parser.getFrames ? Object.keys(parser.getFrames()).length : parser.getLatestFrameNumber() + 124;
}
console.log(JSON.stringify({microseconds: best / frames, frames}));
"""


def cpu_microseconds_per_frame(data: bytes, rounds: int) -> tuple[float, float]:
    """(best CPU time a frame in microseconds, bytes of JSON a frame)."""
    pieces = [data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES)]
    best, frames, size = float("inf"), 0, 0
    for _ in range(rounds):
        pipeline = Pipeline(SlippiReader())
        frames = size = 0
        began = time.process_time()
        for piece in pieces:
            for message in pipeline.feed(piece)[0]:
                size += len(message.json("main"))
                frames += message.type == "frame"
        best = min(best, time.process_time() - began)
    return best / frames * 1e6, size / frames


def peer_microseconds_per_frame(data: bytes, rounds: int) -> float | None:
    """slippi-js's stream and parser, without encoding; `None` when node or the package is not here."""
    package = MODULES / "@slippi" / "slippi-js" / "dist" / "node" / "index.cjs"
    node = shutil.which("node")
    if node is None or not package.is_file():
        return None
    with tempfile.TemporaryDirectory() as folder:
        replay = Path(folder) / "replay.slp"
        replay.write_bytes(data)
        done = subprocess.run(
            [node, "-e", _PEER, str(package), str(replay), str(rounds)], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        return None
    microseconds: float = json.loads(done.stdout)["microseconds"]
    return microseconds


def run(*, short: bool) -> list[Figure]:
    """One figure for each replay."""
    rounds = 1 if short else 7
    figures = []
    for name, data in replays().items():
        microseconds, size = cpu_microseconds_per_frame(data, rounds)
        peer = peer_microseconds_per_frame(data, rounds)
        beside = f"{size:,.0f} B of JSON a frame; slippi-js " + (
            "is not here" if peer is None else f"{peer:.1f} µs without encoding, ratio {peer / microseconds:.2f}"
        )
        figures.append(
            Figure(f"decode and encode, {name}", microseconds, "µs CPU a frame", TARGET_MICROSECONDS, beside)
        )
    return figures
