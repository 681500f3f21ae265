"""The least that has to happen to every frame on this machine, as a measure for the daemon.

A process that does the daemon's system calls and nothing else: it waits for inotify, reads what was appended to the
file of a station, and sends a message of a given size to the one client of that station. The messages only contain the
number of the frame, so that `listeners` can log its arrival.

There are two forms. `raw` waits in `epoll` itself, and `trio` is one task of trio that does the same. The process
prints its port, accepts one client for each folder, and runs until its stdin ends.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import select
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import trio

from slpstream.formats.slippi.commands import FIRST_FRAME, FRAME_BOOKEND
from tests.bench.game_writer import FILE_NAME

FORMS = ("raw", "trio")
_IN_MODIFY, _IN_CREATE, _IN_NONBLOCK = 0x2, 0x100, 0o4000
_EVENT = struct.Struct("iIII")
_READ_BYTES = 65536
_BOOKEND_BYTES = 9
_STATION = re.compile(rb"station=s(\d+)")
_ACCEPTED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
_START = b'{"type":"frame","frame":{"frame":%d,'


class _Station:
    """The file and the client of one station."""

    def __init__(self, folder: Path, client: socket.socket, message_bytes: int) -> None:
        self._path = folder / FILE_NAME
        self._client = client
        self._message_bytes = message_bytes
        self._file = -1
        self._offset = 0
        self._rest = b""
        """The end of what was read last, which may be the beginning of a Frame Bookend."""
        self._next_frame = FIRST_FRAME

    def grew(self) -> None:
        """Read what was appended, and send a message for each frame that has become complete.

        The frame numbers are consecutive, so the last Frame Bookend tells us which frames are new.
        """
        if self._file < 0:
            self._file = os.open(self._path, os.O_RDONLY)
        appended = os.pread(self._file, _READ_BYTES, self._offset)
        self._offset += len(appended)
        data = self._rest + appended
        self._rest = data[1 - _BOOKEND_BYTES :]
        if data[-_BOOKEND_BYTES : 1 - _BOOKEND_BYTES] != bytes([FRAME_BOOKEND.command]):
            return  # the head of the game, or a part of a frame, as a write is seen that is not over yet
        end = int.from_bytes(data[-8:-4], "big", signed=True) + 1
        for number in range(self._next_frame, end):
            payload = (_START % number).ljust(self._message_bytes)
            self._client.send(b"\x81\x7e%b%b" % (len(payload).to_bytes(2, "big"), payload))
        self._next_frame = end


class _Watches:
    """An inotify instance with the folders of all stations."""

    def __init__(self, folders: list[Path], stations: list[_Station]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor: int = libc.inotify_init1(_IN_NONBLOCK)
        self._stations = {
            libc.inotify_add_watch(self.descriptor, bytes(folder), _IN_MODIFY | _IN_CREATE): station
            for folder, station in zip(folders, stations, strict=True)
        }
        if self.descriptor < 0 or min(self._stations) < 0:
            raise OSError(ctypes.get_errno(), "inotify")

    def read(self) -> None:
        """Read the events, and let each station that has grown read its file."""
        try:
            events = os.read(self.descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        offset, grown = 0, set()
        while offset < len(events):
            watch, _, _, length = _EVENT.unpack_from(events, offset)
            offset += _EVENT.size + length
            grown.add(watch)
        for watch in grown:
            self._stations[watch].grew()


def _raw(watches: _Watches) -> None:
    with select.epoll() as poll:
        poll.register(watches.descriptor, select.EPOLLIN)
        poll.register(sys.stdin.fileno(), select.EPOLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor != watches.descriptor:
                    return
                watches.read()


async def _in_trio(watches: _Watches) -> None:
    async with trio.open_nursery() as nursery:

        async def wait_for_end() -> None:
            await trio.lowlevel.wait_readable(sys.stdin)
            nursery.cancel_scope.cancel()

        nursery.start_soon(wait_for_end)
        while True:
            await trio.lowlevel.wait_readable(watches.descriptor)
            watches.read()


def _clients(server: socket.socket, count: int) -> dict[int, socket.socket]:
    """Accept the client of each station, but don't answer its request yet."""
    clients: dict[int, socket.socket] = {}
    while len(clients) < count:
        client, _ = server.accept()
        request = b""
        while b"\r\n\r\n" not in request:
            request += client.recv(_READ_BYTES)
        found = _STATION.search(request)
        assert found is not None
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        clients[int(found[1])] = client
    return clients


def main() -> None:
    """Accept the clients, and send messages until stdin ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--form", choices=FORMS, required=True)
    parser.add_argument("--message-bytes", type=int, required=True)
    arguments = parser.parse_args()
    folders: list[Path] = arguments.folders
    with socket.create_server(("127.0.0.1", 0), backlog=len(folders)) as server:
        print(server.getsockname()[1], flush=True)
        clients = _clients(server, len(folders))
        stations = [_Station(folder, clients[i], arguments.message_bytes) for i, folder in enumerate(folders)]
        watches = _Watches(folders, stations)
        for client in clients.values():  # not before the folders are watched, because then the games begin
            client.sendall(_ACCEPTED)
            client.setblocking(False)
        forms: dict[str, Callable[[_Watches], None]] = {"raw": _raw, "trio": lambda each: trio.run(_in_trio, each)}
        forms[arguments.form](watches)


if __name__ == "__main__":
    main()
