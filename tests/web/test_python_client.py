"""`slpstream.connect`: the stream of a daemon in a Python program."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_type_hints

import msgspec
import pytest
import trio

import slpstream
from slpstream.model.errors import NoSuchGame, NotAuthorised, ProtocolViolation
from slpstream.web.access import Access
from slpstream.web.server import Limits
from tests.daemons.process import DEADLINE_SECONDS, DaemonProcess, running
from tests.iterated import KINDS, taken
from tests.ports import free_port
from tests.project import ROOT
from tests.replays import replay_path
from tests.synthetic.match import synthetic_match
from tests.web.served import Served

WEB = ROOT / "slpstream" / "web"


def log_messages(path: Path) -> list[dict[str, Any]]:
    """The log messages of a file, as a daemon sends them for the station `station`."""
    return [{**json.loads(message.json()), "station": "station"} for message in slpstream.messages(path)]


def stub(name: str) -> ModuleType:
    """A stub of the package, as a module."""
    loader = importlib.machinery.SourceFileLoader(f"slpstream.web.{name}", str(WEB / f"{name}.pyi"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


@pytest.fixture
def message_types(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    """The types of messages by `type` or, for events, by `kind`."""
    for name in ("payload_types", "message_types"):
        monkeypatch.setitem(sys.modules, f"slpstream.web.{name}", None)
    stub("payload_types")
    found: dict[str, Any] = {}
    for each in vars(stub("message_types")).values():
        if isinstance(each, type):
            hints = get_type_hints(each)
            names = get_args(hints["kind" if "kind" in hints else "type"]) if "type" in hints else ()
            found |= dict.fromkeys(names, each)
    return found


@pytest.mark.process
def test_each_message_arrives_once_although_the_daemon_is_killed(
    tmp_path: Path, message_types: Mapping[str, Any]
) -> None:
    """Three programs at the same time: a plain one, one with asyncio, and one with trio."""
    data = synthetic_match(seed=2, frames=900, rollbacks=True)
    whole = tmp_path / "whole.slp"
    whole.write_bytes(data)
    expected = log_messages(whole)
    game = tmp_path / "station" / "Game_20261121T052951.slp"
    game.parent.mkdir()
    game.write_bytes(data[: len(data) // 2])
    received: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    cursors: dict[str, Mapping[str, str]] = {}
    arguments = ("--port", str(free_port()))
    protocols: dict[str, Literal["json", "delta"]] = {"thread": "json", "asyncio": "delta", "trio": "json"}

    def receive(kind: str, url: str) -> None:
        client = slpstream.connect(url, stations="station", cursor="start", protocol=protocols[kind])

        def is_last(message: slpstream.Message) -> bool:
            received[kind].append(message)
            cursors[kind] = client.cursors
            return bool(message.get("cursor") == expected[-1]["cursor"])

        taken(kind, lambda: client, is_last)

    daemon = DaemonProcess(game.parent, arguments=arguments)
    programs = [threading.Thread(target=receive, args=(kind, daemon.url)) for kind in KINDS]
    try:
        for program in programs:
            program.start()
        daemon.until(lambda: all(len(each) > len(expected) // 3 for each in received.values()))
        daemon.kill()
        game.write_bytes(data)
        daemon = DaemonProcess(game.parent, arguments=arguments)
        for program in programs:
            program.join(DEADLINE_SECONDS)
    finally:
        daemon.kill()
    for kind, messages in received.items():
        assert [message for message in messages if "cursor" in message and message["type"] != "snapshot"] == expected
        assert [message["type"] for message in messages].count("hello") >= 2
        assert cursors[kind] == {"station": expected[-1]["cursor"]}
        check_types(messages, message_types)


def check_types(messages: Sequence[Mapping[str, Any]], message_types: Mapping[str, Any]) -> None:
    """Check that messages have the types that type checkers know, and no other keys at the top."""
    for message in messages:
        described = message_types[message.get("kind", message["type"])]
        msgspec.convert(message, described)
        assert not set(message) - set(get_type_hints(described)), message["type"]


def test_log_messages_have_the_described_types(message_types: Mapping[str, Any]) -> None:
    checked: set[str] = set()
    for name in ("stamina_3.18", "crashed_2.1", "pauses_3.10", "time_mode_2.0", "rollbacks_3.0"):  # all kinds
        messages = log_messages(replay_path(name))
        check_types(messages, message_types)
        checked |= {message.get("kind", message["type"]) for message in messages}
    statuses = {"hello", "snapshot", "station", "set", "on_air", "situation", "lagged"}
    assert message_types.keys() - checked == {*statuses, "event", "transformed"}, "no replay has Zelda"


@pytest.mark.trio
async def test_refused_subscriptions(server: Served) -> None:
    url = f"127.0.0.1:{server.port}"
    with pytest.raises(ProtocolViolation, match="rate is from 1 to 240"):
        slpstream.connect(url, rate=1000)
    with trio.fail_after(DEADLINE_SECONDS):
        with pytest.raises(NoSuchGame, match="nowhere"):
            [message async for message in slpstream.connect(url, stations=["nowhere"])]
        with pytest.raises(NoSuchGame, match="0000"):
            [message async for message in slpstream.connect(url, stations="main", cursor=f"{'0' * 32}/l1.0")]
        server.server.configure(Access("secret", require_token=True), Limits(100, 65536, 65536))
        with pytest.raises(NotAuthorised):
            await anext(slpstream.connect(url, token="wrong"))
        async with slpstream.connect(url, token="secret") as client:
            assert (await anext(client))["type"] == "hello"


@pytest.mark.trio
async def test_another_server_is_refused(server: Served) -> None:
    with trio.fail_after(DEADLINE_SECONDS), pytest.raises(ProtocolViolation, match="no stream of slpstream at ws://"):
        await anext(slpstream.connect(f"http://127.0.0.1:{server.port}/elsewhere/"))


@pytest.mark.process
def test_daemon_that_is_not_there_yet(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    client = slpstream.connect(f"http://127.0.0.1:{port}")
    found: list[Any] = []
    program = threading.Thread(target=lambda: found.append(next(client)))
    program.start()
    while not caplog.records:
        program.join(0.02)
    with running(tmp_path, arguments=("--port", str(port))):
        program.join(DEADLINE_SECONDS)
        client.close()
    assert [message["type"] for message in found] == ["hello"]
    assert {record.name for record in caplog.records} == {"slpstream.client"}
    assert caplog.messages[0].endswith(f"all attempts to connect to 127.0.0.1:{port} failed; connecting again")
