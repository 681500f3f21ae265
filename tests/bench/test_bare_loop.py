"""The bare loop, which the daemon is compared with, sends every frame, however the file grows."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.bare_loop import FORMS
from tests.bench.game_writer import FILE_NAME
from tests.bench.games import FIRST_FRAME, EndlessGame
from tests.project import ROOT

_REQUEST = b"GET /v1/stream?station=s00 HTTP/1.1\r\n\r\n"
_NUMBER = re.compile(rb'"frame":\{"frame":(-?\d+),')


def _numbers(client: socket.socket, count: int) -> list[int]:
    """Frame numbers of the next messages."""
    received = b""
    while len(_NUMBER.findall(received)) < count:
        data = client.recv(65536)
        assert data, "the connection is closed"
        received += data
    return [int(number) for number in _NUMBER.findall(received)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the bare loop uses inotify")
@pytest.mark.parametrize("form", FORMS)
def test_every_frame_is_sent_however_the_file_grows(tmp_path: Path, form: str) -> None:
    game = EndlessGame()
    frames = [game.frame(index) for index in range(40)]
    command = [sys.executable, "-m", "tests.bench.bare_loop", str(tmp_path), "--form", form, "--message-bytes", "200"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin, socket.create_connection(("127.0.0.1", int(process.stdout.readline()))) as client:
            client.settimeout(20)
            client.sendall(_REQUEST)
            assert client.recv(1000).startswith(b"HTTP/1.1 101")
            with (tmp_path / FILE_NAME).open("xb", buffering=0) as file:
                file.write(game.head(1) + b"".join(frames[:3]))  # a busy machine reads these together
                assert _numbers(client, 3) == [FIRST_FRAME, FIRST_FRAME + 1, FIRST_FRAME + 2]
                for index, frame in enumerate(frames[3:], 3):  # their lengths differ
                    file.write(frame[:20])
                    file.write(frame[20:-5])
                    file.write(frame[-5:])
                    assert _numbers(client, 1) == [FIRST_FRAME + index]
        assert process.wait(20) == 0
