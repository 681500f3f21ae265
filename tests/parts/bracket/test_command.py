"""`slpstream bracket`, against a double of start.gg."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from slpstream.cli import cli
from tests.parts.bracket.startgg_double import EVENT, TOKEN, DoubleSet, Entrant, Player, StartggDouble


@pytest.fixture
def double() -> StartggDouble:
    made = StartggDouble(time.time)
    made.stations |= {501: (1, "Setup 1"), 502: (2, "Stage")}
    pair = [Entrant(11, [Player("Alice", "TSM")]), Entrant(12, [Player("Bob")])]
    made.add(DoubleSet("one", "preview_4_1", 4, [*pair], station=502))
    made.add(DoubleSet("two", 77, 4, [pair[0], None], round="Grand Final", state=6))
    return made


def configured(folder: Path, url: str, token: str = TOKEN) -> str:
    (folder / "token").write_text(token)
    path = folder / "slpstream.toml"
    path.write_text(
        f"[bracket]\nkind = 'start.gg'\nevents = ['{EVENT}']\nurl = '{url}'\ntoken_file = '{folder / 'token'}'\n"
        "requests_per_minute = 80\n[[stations]]\nid = 'wii-1'\nfolder = '/wii'\n"
    )
    return str(path)


@pytest.mark.slow
def test_stations_and_sets_are_listed(tmp_path: Path, double: StartggDouble) -> None:
    with double.served() as url:
        result = CliRunner().invoke(cli, ["bracket", configured(tmp_path, url)])
    assert result.output.splitlines() == [
        "the token may report for tournament/the-big-one",
        "station 1: is wii-1",
        "station 2: is none of the configured stations",
        "preview_4_1  TSM | Alice – Bob  Winners Round 1, not started, station 2",
        "77  TSM | Alice – ?  Grand Final, called",
        "2 open sets",
    ]
    assert result.exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("token", "admin", "what"),
    [
        ("wrong", True, "start.gg: Invalid authentication token"),
        (TOKEN, False, "start.gg: the owner of the token does not run tournament/the-big-one"),
    ],
)
def test_refused_token_is_reported(tmp_path: Path, double: StartggDouble, token: str, admin: bool, what: str) -> None:
    double.admin = admin
    with double.served() as url:
        result = CliRunner().invoke(cli, ["bracket", configured(tmp_path, url, token)])
    assert what in result.output
    assert result.exit_code == 74


@pytest.mark.parametrize(
    ("text", "what"),
    [("", "bracket.kind: must be given"), ("[bracket]\nkind='webhook'\nurl='http://x'\n", "has no sets to list")],
)
def test_nothing_to_check(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "slpstream.toml"
    path.write_text(text)
    result = CliRunner().invoke(cli, ["bracket", str(path)])
    assert what in result.output
    assert result.exit_code == 78
