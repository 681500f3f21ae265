"""The examples other than commands on the pages about search and situations: Python, TOML, JSON, queries.

The commands of these pages run in `test_commands.py`.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from slpstream.api import open_replay, read_game
from slpstream.cli import check_config
from slpstream.model.game_facts import GameFacts, facts_of
from slpstream.model.messages import STATUS_PAYLOADS
from slpstream.model.summary import GameSummary, PlayerSummary, Thing
from slpstream.parts import registry
from slpstream.parts.find.queries.parse import Context
from slpstream.parts.find.queries.parse import parse as parse_games
from slpstream.parts.find.queries.predicate import matches
from slpstream.parts.situations.part import Situation
from slpstream.parts.situations.search import parse
from slpstream.parts.situations.search.query import Query
from tests.docs.commands import commands
from tests.docs.pages import DOCS, blocks
from tests.replays import NOT_REPLAYS, replay, replay_path, replays
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.parts("archives", "highlights", "obs", "situations")
CONTEXT = Context(("ANN#1",))
PAGES = tuple(f"docs/data/{name}.md" for name in ("search", "situations"))
SITUATIONS = (DOCS / "data" / "situations.md").read_text(encoding="utf-8")
SEARCH = (DOCS / "data" / "search.md").read_text(encoding="utf-8")


def examples_of_situations() -> list[str]:
    """The queries in the table of examples."""
    table = SITUATIONS.partition("## Examples")[2].partition("\n## ")[0]
    return [query.replace("\\|", "|") for query in re.findall(r"^\| `(.+?)` \|", table, re.MULTILINE)]


def examples_of_games() -> list[str]:
    """The queries in the tables of words and keys: tokens, and a key with each of its values."""
    tables = SEARCH.partition("## Words")[2].partition("## Mistakes")[0]
    rows = [row.split("|")[1:3] for row in tables.splitlines() if row.startswith("| `")]
    found = []
    for first, second in rows:
        names, values = re.findall(r"`([^`]+)`", first), re.findall(r"`([^`]+)`", second)
        if names[0] in {"char", "stage", "duration", "date", "is", "winner", "code", "tag", "end", "station", "format"}:
            found += [f"{name}:{value}" for name in names for value in values]
        else:
            found += [name for name in names if "key:" not in name]
    return [*found, "-mango", '-"mango zain"', "-fox>marth", "stage:yoshi"]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_runs(page: str) -> None:
    """All commands of the pages run in `test_commands.py`; none has a reason for omission there."""
    found = commands(page)
    assert found
    assert not [command.text for command in found if command.reason is not None]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_python_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = synthetic_match(seed=3, frames=2400)
    (tmp_path / "game.slp").write_bytes(data)
    (tmp_path / "game.slp.gz").write_bytes(gzip.compress(data))
    with zipfile.ZipFile(tmp_path / "games.zip", "w") as archive:
        archive.writestr("game.slp", data)
    texts = [block.text for block in blocks("python") if block.page == page]
    assert texts
    for text in texts:
        names: dict[str, Any] = {}
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(text, page, "exec"), names)
        if "replay" in names:
            assert names["replay"].game_id == open_replay("game.slp").game_id
            assert output.getvalue().count('"type":"frame"') > 2000


def test_python_of_situations_has_the_results_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "game.slp").write_bytes(replay("zelda_sheik_3.18"))
    (text,) = [block.text for block in blocks("python") if block.page == "docs/data/situations.md"]
    for query in ("upthrow -> upair", "hit"):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(text.replace("upthrow -> upair", query), "situations.md", "exec"), {})
        found = open_replay("game.slp").situations(query)
        assert found
        assert output.getvalue().splitlines() == [
            f"{each.player_index} {each.opponent_index} {each.frames}" for each in found
        ]


def test_configuration_is_accepted(tmp_path: Path) -> None:
    (text,) = [block.text for block in blocks("toml") if block.page == "docs/data/situations.md"]
    file = tmp_path / "slpstream.toml"
    file.write_text(text, encoding="utf-8")
    config = registry.load(file)
    (situation,) = config.sections(Situation)
    assert (situation.mark, situation.highlight, situation.score) == (True, True, 90.0)
    checked = CliRunner().invoke(check_config.command, [str(file)])
    assert checked.exit_code == 0, checked.output
    assert isinstance(parse(situation.query), Query)
    assert set(tomllib.loads(text)) == {"situations", "obs", "obs_rules"}


def test_message_has_the_sent_members() -> None:
    (text,) = [block.text for block in blocks("json") if block.page == "docs/data/situations.md"]
    message = msgspec.json.decode(text)
    members = re.findall(r"`(\w+)`", STATUS_PAYLOADS[message["type"]].partition(":")[0])
    assert set(message) == {"type", "station", *members}


def test_examples_of_situations_are_valid() -> None:
    queries = examples_of_situations()
    assert len(queries) > 10
    assert not [query for query in queries if not isinstance(parse(query), Query)]


@pytest.mark.slow
def test_examples_of_situations_run_on_all_replays() -> None:
    found = dict.fromkeys(examples_of_situations(), 0)
    for path in replays():
        if path.stem in {*NOT_REPLAYS, "corrupt"}:
            continue
        opened = open_replay(path)
        for query in found:
            found[query] += len(opened.situations(query))
    missing = [query for query, count in found.items() if not count]
    assert len(missing) <= 4, "all but four occur in some game"


def test_examples_of_games_are_valid() -> None:
    queries = examples_of_games()
    assert len(queries) > 30
    assert {query: list(parsed.problems) for query in queries if (parsed := parse_games(query, CONTEXT)).problems} == {}
    facts: GameFacts = facts_of(
        GameSummary(), format="slippi", stations=(), file_name="mango zain.slp", duration_seconds=150.0, began_ms=None
    )
    holds = {query for query in queries if matches(parse_games(query, CONTEXT).condition, facts)}
    assert {"mango", '"mango zain"', "mango zain", "format:slippi", "duration:2m"} <= holds
    assert holds.isdisjoint({"fox>marth", "-mango", "stage:yoshi", "duration:<90s", "end:quit"})


def differing() -> list[str]:
    """The queries that have another meaning in the Launcher according to the page."""
    table = SEARCH.partition("## Differences from the Launcher")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(.+?)` \|", table, re.MULTILINE)


def known(**changes: Any) -> GameFacts:
    """Ann's Fox beats Bob's Captain Falcon in two minutes."""
    summary = GameSummary(
        players=[
            PlayerSummary(index=0, name="Ann", character=Thing(id=2, name="Fox")),
            PlayerSummary(index=1, tag="Bob", character=Thing(id=0, name="Captain Falcon")),
        ],
        winners=[0],
    )
    values: dict[str, Any] = {"format": "slippi", "stations": (), "file_name": "-mango.slp", "began_ms": None}
    return facts_of(summary, duration_seconds=120.0, **{**values, **changes})


def finds(query: str, facts: GameFacts) -> bool:
    parsed = parse_games(query, CONTEXT)
    assert not parsed.problems
    return matches(parsed.condition, facts)


def is_mistake(query: str) -> bool:
    return bool(parse_games(query, CONTEXT).problems)


def test_differences_from_the_launcher_match_the_page() -> None:
    lost_end = open_replay(replay_path("lost_game_end_3.18"))
    assert lost_end.game_end.game_end is None
    decided = read_game(lost_end.path).record()
    winner = next(player for player in decided.summary.players if player.index in decided.summary.winners)
    word = re.sub(r"[^a-z]", "", winner.character.text.lower())
    of_lost = facts_of(decided.summary, format="slippi", stations=(), file_name="", duration_seconds=1.0, began_ms=None)
    checks: dict[str, bool] = {
        "-mango": not finds("-mango", known()) and finds("-mango", known(file_name="x.slp")),
        "-fox>marth": finds("-fox>marth", known()) and not finds("-fox>falcon", known()),
        "duration:>2m": not any(
            finds("duration:>2m", facts_of(GameSummary(), duration_seconds=seconds, **UNPLACED))
            for seconds in (118.7, 119.9)
        )
        and finds("duration:>2m", facts_of(GameSummary(), duration_seconds=120.0 + 1 / 60, **UNPLACED)),
        "fox>": finds(f"{word}>", of_lost),
        "char:foxes": is_mistake("char:foxes"),
        'char:"Falcon"': finds('char:"Falcon"', known()),
        "duration:30seconds": is_mistake("duration:30seconds"),
        "date:2024-02-31": is_mistake("date:2024-02-31"),
        "tag:ann,bob": finds("tag:ann,bob", known()) and finds("tag:bob", known()),
    }
    assert sorted(differing()) == sorted(checks)
    assert [query for query, holds in checks.items() if not holds] == []


UNPLACED: dict[str, Any] = {"format": "slippi", "stations": (), "file_name": "", "began_ms": None}
