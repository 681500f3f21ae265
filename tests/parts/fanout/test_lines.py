"""Lines written to the broker by other programs."""

from __future__ import annotations

import pytest

from slpstream.parts.fanout.gateway.lines import message_in, object_in
from tests.stream.fakes import FakeLog, lines

GAME_ID = b"a" * 32
WRONG = {
    "cut off": (b"frame", b'"frame":{"frame":1,"players":{}'),
    "not JSON": (b"finalized", b"x"),
    "not UTF-8": (b"event", b'"kind":"\xff"}'),
    "number out of range": (b"event", b'"kind":1e999}'),
    "nested too deeply": (b"event", b'"kind":' + b"[" * 5000),
    "players as a list": (b"frame", b'"frame":{"frame":1,"players":[]}}'),
    "player as a number": (b"frame", b'"frame":{"frame":1,"players":{"0":7}}}'),
    "rate of strings": (b"game_start", b'"rate":["a","b"]}'),
    "stats missing": (b"stats", b'"frame":1}'),
    "metadata as a list": (b"metadata", b'"metadata":[]}'),
    "unknown type": (b"chat", b'"x":1}'),
}


def line(kind: bytes, body: bytes) -> bytes:
    return b'{"type":"%b","gameId":"%b","cursor":"%b/l7.0",%b' % (kind, GAME_ID, GAME_ID, body)


@pytest.mark.parametrize("fault", WRONG)
def test_invalid_line_is_not_a_message(fault: str) -> None:
    assert message_in(line(*WRONG[fault])) is None


@pytest.mark.parametrize("text", [b"", b"{}", b'{"type":"station","station":"main","state":"idle"}'])
def test_line_of_another_kind_is_not_a_message(text: bytes) -> None:
    assert message_in(text) is None


def test_log_lines_are_parsed() -> None:
    message = message_in(line(b"frame", b'"frame":{"frame":1,"players":{"0":{"post":{}}}}}'))
    assert message is not None
    assert (message.type, message.frame) == ("frame", 1)
    found = [message_in(message) for message in lines(FakeLog(1, batches=20), "main")]
    assert [message.json("main") for message in found if message is not None] == lines(FakeLog(1, batches=20), "main")


@pytest.mark.parametrize("text", [b"", b"[]", b'{"a":"\xff"}', b'{"a":' * 5000])
def test_invalid_object_is_read_as_empty(text: bytes) -> None:
    assert object_in(text) == {}
