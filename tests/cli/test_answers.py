"""Commands that ask a daemon print one line and set an exit code if another server answers at its address."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command_line import CONFIG, INPUT_OUTPUT, error_line, exit_code, slpstream


def http(body: bytes, status: int = 200) -> bytes:
    return b"HTTP/1.1 %d x\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b" % (status, len(body), body)


ANSWERS = {
    "ssh": b"SSH-2.0-OpenSSH_9.6\r\n",
    "html": http(b"<html>"),
    "deep": http(b"[" * 5000),
    "deep in an object": http(b'{"games":' + b"[" * 5000),
    "list": http(b"[1]"),
    "other object": http(b'{"a":1}'),
    "other games": http(b'{"games":[1]}'),
    "other players": http(b'{"games":[{"gameId":"x","players":[1]}]}'),
    "other names": http(b'{"games":[{"gameId":"x","players":[{"index":0,"character":{"name":5}}]}]}'),
    "not UTF-8": http(b'{"games":["\xff"],"setups":["\xff"],"address":"\xff"}'),
    "refused, deep": http(b"[" * 5000, 409),
    "refused, not UTF-8": http(b'{"detail":"\xff"}', 409),
    "refused, cut off": b"HTTP/1.1 422 x\r\ntransfer-encoding: chunked\r\n\r\n5\r\n[",
    "refused, list": http(b"[]", 422),
}


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """The port of a server that sends these bytes to every client."""
    stopping = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                connection, _ = server.accept()
                with connection:
                    if stopping.is_set():
                        return
                    connection.recv(65536)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            stopping.set()
            socket.create_connection(server.getsockname()).close()  # wakes the thread on all systems
            thread.join()


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_other_servers_are_not_taken_for_a_daemon(answer: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(answer) as port:
        url = f"http://127.0.0.1:{port}"
        for arguments in (("find", url, "fox"), ("audit", url), ("seats", url)):
            assert exit_code(*arguments) in (INPUT_OUTPUT, CONFIG)
            [line] = capsys.readouterr().err.splitlines()
            assert line.startswith(f"slpstream: {url}: ")


@pytest.mark.slow
def test_start_names_the_occupied_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    with answering(ANSWERS["ssh"]) as port:
        done = slpstream("start", "--no-browser", "--port", str(port))
    assert done.returncode == CONFIG
    problem = error_line(done)
    assert f"cannot listen on 127.0.0.1:{port}: another program has this port" in problem
    assert problem.endswith(f"pass --port {port % 65535 + 1}")
