"""`/v1/stations/{station}/commentary` of a daemon: as text and as events, from its beginning to its end."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit

from tests.daemons.played_game import PlayedGame
from tests.daemons.process import DaemonProcess, configured
from tests.daemons.requests import ask
from tests.project import has_part
from tests.synthetic.match import synthetic_match


def listen(daemon: DaemonProcess, query: str) -> socket.socket:
    host, port = urlsplit(daemon.url).netloc.split(":")
    client = socket.create_connection((host, int(port)), timeout=30)
    client.sendall(f"GET /v1/stations/main/commentary?{query} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    return client


def read_until(client: socket.socket, wanted: bytes) -> bytes:
    data = b""
    while wanted not in data:
        received = client.recv(4096)
        assert received, data
        data += received
    return data


def test_listeners(tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    with configured(tmp_path, "", folder) as daemon, listen(daemon, "format=text&lang=ja") as text:
        assert b"text/plain; charset=utf-8" in read_until(text, b"\r\n\r\n")
        with listen(daemon, "") as events:
            assert b"text/event-stream" in read_until(events, b"\r\n\r\n")
            game = PlayedGame(folder / "Game_1.slp", synthetic_match(seed=5))
            game.write(300_000)
            assert b"data: Vixen as Fox against Altea as Marth, on Battlefield.\n\n" in read_until(events, b"\n\n")
            read_until(text, "ステージはBattlefield。\n".encode())
            game.write(750_000)
            with listen(daemon, "format=text&odds=1") as with_odds:
                read_until(with_odds, b"\r\n\r\n")
                game.write(200_000)
                if has_part("odds"):
                    read_until(with_odds, b"Altea is now the favourite, with a 69 percent chance to win.\n")
            game.end()
        daemon.until(lambda: daemon.get("/v1/stations/main")["state"] == "idle")
        assert ask(daemon, "/v1/stations/main/commentary", method="HEAD").status == 200
        assert ask(daemon, "/v1/stations/nobody/commentary").status == 404
        assert ask(daemon, "/v1/stations/main/commentary?lang=xx").status == 422
        assert daemon.terminate() == 0
        while text.recv(4096):
            pass
