"""Kinds of brackets: start.gg, webhooks, and one of another package, with a stand-in for its entry point."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.config import check
from slpstream.model.errors import ConfigError, SinkError
from slpstream.parts import registry
from slpstream.parts.bracket import kinds
from slpstream.parts.bracket.configured import connection_of
from slpstream.parts.bracket.interface import BracketKind, Connection, Headers, HttpAnswer, Report
from slpstream.parts.bracket.kinds import kind_called
from slpstream.parts.bracket.part import Bracket
from slpstream.parts.bracket.webhook import WebhookResults
from slpstream.system.http_client import signature
from tests.parts.bracket.desks import at_work, played, until
from tests.parts.receivers import SECRET, real_receiver, verified
from tests.virtual_time import now


class Receiver:
    """Posts of results, and the answers to them."""

    def __init__(self) -> None:
        self.answers: list[int | str] = []
        self.posts: list[tuple[Mapping[str, str], Any]] = []

    def connection(self) -> Connection:
        async def request(method: str, url: str, headers: Headers, body: bytes) -> HttpAnswer:
            await trio.lowlevel.checkpoint()
            self.posts.append((dict(headers), json.loads(body)))
            answer = self.answers.pop(0) if self.answers else 204
            if isinstance(answer, str):
                raise SinkError(answer)
            return HttpAnswer(answer, b"")

        async def secret() -> str:
            return "secret"

        return Connection("https://example.org/", (), request, secret, signature)


async def test_webhook_gets_each_result_once(tmp_path: Path) -> None:
    receiver = Receiver()
    receiver.answers = ["no answer within 10 s", 503, 429, 204]
    results = WebhookResults(receiver.connection(), wall_clock=now)
    async with at_work("webhook", results, None, tmp_path) as desk:
        for winners in ("", "0", "01", "011"):
            desk.intake.set_changed("setup-1", played(winners))
            await trio.sleep(30)
        await until(lambda: [entry.state for entry in desk.entries] == ["done"])
        desk.intake.set_changed("setup-1", played("010"))
        await trio.sleep(300)
        assert len(receiver.posts) == 4, "only a person corrects"
        await desk.decisions.correct(next(iter(desk.entries)).key, reset_dependents=False)
        await until(lambda: len(receiver.posts) == 5)
    keys = [headers["idempotency-key"] for headers, _ in receiver.posts]
    assert len(set(keys[:4])) == 1
    assert keys[4] != keys[0]
    first, last = receiver.posts[3][1], receiver.posts[4][1]
    assert first["sides"] == [{"name": "Alice", "score": 1}, {"name": "Bob", "score": 2}]
    assert (first["winner"], first["correction"], last["winner"], last["correction"]) == (1, False, 0, True)
    assert [game["winner"] for game in first["games"]] == [0, 1, 1]


def test_posts_are_signed_like_other_webhooks(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(SECRET + b"\n")

    async def main(url: str) -> None:
        bracket = {"kind": "webhook", "url": url, "token_file": str(tmp_path / "secret"), "report": True}
        config = check({"bracket": bracket}, registry.sections()).section(Bracket)
        kind = kind_called("webhook")
        report = Report(set_id="x", entrants=("0", "1"), names=("A", "B"), score=(2, 0), winner=0, played_id="x")
        await kind.make(await connection_of(config, kind)).report(report)

    with real_receiver() as receiver:
        trio.run(main, receiver.url)
        (request,) = receiver.requests
    assert verified(request)
    assert request.headers["x-slpstream-event"] == "result"


class _Entry:
    name = "parry"
    value = "somewhere:KIND"

    def __init__(self, loaded: object) -> None:
        self._loaded = loaded

    def load(self) -> object:
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


def installed(monkeypatch: pytest.MonkeyPatch, loaded: object) -> None:
    def entry_points(group: str) -> list[_Entry]:
        assert group == "slpstream.brackets"
        return [_Entry(loaded)]

    monkeypatch.setattr(kinds, "entry_points", entry_points)


def test_package_adds_a_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = BracketKind("parry", WebhookResults, reads=False, url="https://example.org/")
    installed(monkeypatch, kind)
    assert kind_called("parry") is kind
    assert kind_called("start.gg").reads


@pytest.mark.parametrize(
    ("name", "loaded", "what"),
    [
        ("challonge", None, "expected one of start.gg, webhook, parry; found 'challonge'"),
        ("parry", ImportError("no such module"), "cannot be loaded: no such module"),
        ("parry", "a text", "expected a BracketKind"),
    ],
)
def test_unusable_brackets_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, loaded: object, what: str) -> None:
    installed(monkeypatch, loaded)
    with pytest.raises(ConfigError, match=what):
        kind_called(name)
