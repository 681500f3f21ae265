"""Run libmelee (PyPI `melee`) as a black box: it reads games from a spectator server, or from files.

`connect HOST PORT LAST_FRAME...` connects, prints `connected`, and then a line for each frame of one game per
`LAST_FRAME`, the number of its last frame. `files PATH...` prints the same lines for replays, and `end` after each. A
line has the number of the frame, and a hash of everything that libmelee knows about it, except values from the metadata
of a file. At the end, and when its standard input ends, it exits without a farewell to the server.
"""

from __future__ import annotations

import dataclasses
import hashlib
import multiprocessing
import os
import signal
import sys
import threading
from typing import Any

from melee import Console
from melee.slippstream import EnetDisconnected

METADATA = ("startAt", "playedOn", "consoleNick", "_newframe", "custom")
NAMES = ("nickName", "connectCode", "displayName")
ECB = ("ecb", "ecb_top", "ecb_bottom", "ecb_left", "ecb_right")


def line_of(state: Any) -> str:
    known = dataclasses.asdict(state)
    for name in METADATA:
        del known[name]
    for player in known["players"].values():
        for name in NAMES:
            del player[name]
        # Some or all replays lack these. libmelee then reads the bytes after the event: those of the next event in a
        # message, and nothing in a file.
        for name in ECB:
            del player[name]
        del player["controller_state"]["raw_main_stick"]
    return f"{state.frame} {hashlib.sha256(repr(known).encode()).hexdigest()[:16]}"


def show(line: str) -> None:
    print(line, flush=True)


def die() -> None:
    """Kill the process that holds the connection, and this one."""
    for child in multiprocessing.active_children():
        child.kill()
    os.kill(os.getpid(), signal.SIGKILL)


def die_with_stdin() -> None:
    sys.stdin.read()
    die()


def connect(host: str, port: int, last_frames: list[int]) -> None:
    console = Console(is_dolphin=True, is_remote=True, slippi_address=host, slippi_port=port)
    assert console.connect()
    threading.Thread(target=die_with_stdin, daemon=True).start()
    show("connected")
    try:
        for last_frame in last_frames:
            while True:
                state = console.step()
                show(line_of(state))
                if state.frame == last_frame:
                    break
    except EnetDisconnected:
        show("disconnected")
    die()


def read_file(path: str) -> None:
    console = Console(path=path, is_dolphin=False)
    assert console.connect()
    while (state := console.step()) is not None:
        show(line_of(state))
    show("end")


if __name__ == "__main__":
    if sys.argv[1] == "files":
        for name in sys.argv[2:]:
            read_file(name)
    else:
        connect(sys.argv[2], int(sys.argv[3]), [int(number) for number in sys.argv[4:]])
