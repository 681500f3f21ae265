"""Names and durations in queries, and the places of mistakes. `test_reference` tests the meaning of queries."""

from __future__ import annotations

import math
import re

import pytest

from slpstream.formats.slippi.action_states import states_called
from slpstream.model.query_problem import QueryProblem
from slpstream.parts.situations.search import parse, parsed, shown
from slpstream.parts.situations.search.query import (
    Name,
)
from slpstream.parts.situations.search.tokens import MAX_QUERY_CHARACTERS
from slpstream.parts.situations.search.vocabulary import PLACES, STATES, move_ids, starts
from tests.project import ROOT

PAGE = (ROOT / "docs/data/situations.md").read_text(encoding="utf-8")


def test_names_of_player_and_opponent() -> None:
    query = parsed('fox "Mang0 " | MANG#0 vs Captain-Falcon p2|any: hit')
    assert query.player == ((Name(character=2), Name(text="mang0 ")), (Name(code="mang#0"),))
    assert query.opponent == ()  # `any` is one of the alternatives
    assert parsed("ICs vs g&w port4: hit").opponent == ((Name(character=3), Name(port=4)),)


def test_durations_and_limits() -> None:
    steps = parsed("shield, for:20f -> hit -> air, within:1.5s -> kill, within:any, for:2f").steps
    assert [step.held_frames for step in steps] == [20, 1, 1, 2]
    assert [step.within_frames for step in steps[1:]] == [300, 90, math.inf]
    assert parsed("hit -> air, within:2.05s").steps[1].within_frames == 123
    assert parsed(f"hit -> air, within:{'9' * 400}s").steps[1].within_frames == math.inf


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        ("", "unexpected_end", ""),
        ("fox:", "unexpected_end", ""),
        ("upthow", "unknown_word", "upthow"),
        ("hit -> ", "unexpected_end", ""),
        ("hit,, air", "unexpected", ","),
        ("hit air", "unexpected", "air"),
        ("hit)", "unexpected", ")"),
        ("(hit", "unexpected_end", ""),
        ("fix: hit", "unknown_name", "fix"),
        ("fox vs: hit", "unexpected", ":"),
        ("| fox: hit", "unexpected", "|"),
        ("fox vs marth vs fox: hit", "unexpected", "vs"),
        ("hit, within:5f", "no_step_before", "within:"),
        ("hit -> air, within:5", "unexpected", "5"),
        ("hit, for:5f, for:6f", "twice", "for:"),
        pytest.param("hit, swing:>5, swing:>6", "twice", "swing:", marks=pytest.mark.parts("odds")),
        pytest.param("hit, swing:>5 -> hit", "unexpected", "swing:", marks=pytest.mark.parts("odds")),
        ("hit, (air | swing:>5)", "unexpected", "swing:"),
        ("opponent.swing>5", "unexpected", "swing"),
        ("stocks:2%", "unexpected", "2%"),
        ("hit -> air, within:5f, within:6f", "twice", "within:"),
        ("hit, for:0f", "bad_duration", "0f"),
        ("hit, for:28800.6f", "bad_duration", "28800.6f"),
        (f"hit, for:{'9' * 400}f", "bad_duration", f"{'9' * 400}f"),
        ("hit, for:1\u017f", "unknown_character", "1"),  # a long s, which is an s in another case
        ("\u017ftarts:grab", "unknown_name", "\u017ftarts"),
        ("t\u0131me:1", "unknown_name", "t\u0131me"),
        ("t\u0130me:1", "unknown_name", "t\u0130me"),
        ("hit -> air, w\u0131thin:3s", "unknown_word", "w\u0131thin"),
        ('"": hit', "empty_name", '""'),
        ('fox vs marth "": hit', "empty_name", '""'),
        ("for:5f", "no_condition", "for:"),
        ("hit | for:5f", "unexpected", "for:"),
        ("percent:", "unexpected_end", ""),
        ("percent:<x", "unexpected", "x"),
        ("percent:90..50", "empty_range", "50"),
        ("opponent.frame:5", "no_subject", "frame:"),
        ("starts:hitstun", "unknown_word", "hitstun"),
        ("state:Gurd", "unknown_word", "Gurd"),
        ("state:0x10000", "unknown_word", "0x10000"),
        ('"fox: hit', "unclosed_text", '"fox: hit'),
        ("hit ~ air", "unknown_character", "~"),
        ("hit, 5", "unexpected", "5"),
        ("hit, \N{FULLWIDTH COLON}", "unknown_character", "\N{FULLWIDTH COLON}"),
    ],
)
def test_invalid_queries_point_at_the_place(text: str, kind: str, place: str) -> None:
    problem = parse(text)
    assert isinstance(problem, QueryProblem)
    assert (problem.kind, text[problem.position : problem.position + problem.length]) == (kind, place)
    assert 0 <= problem.position <= len(text)
    marked = shown(problem, text).split("\n")[2]
    assert marked.index("^") == problem.position + 2
    with pytest.raises(ValueError, match=f"at character {problem.position + 1}"):
        parsed(text)


def test_limits_of_a_query() -> None:
    for text, kind in [
        ("hit," * MAX_QUERY_CHARACTERS, "too_long"),
        ("(" * 100 + "hit" + ")" * 100, "too_deep"),
        ("!" * 100 + "hit", "too_deep"),
        ("->".join(["hit"] * 17), "too_many_steps"),
    ]:
        problem = parse(text)
        assert isinstance(problem, QueryProblem)
        assert problem.kind == kind


def test_suggestion_for_a_misspelt_word() -> None:
    problem = parse("upthow")
    assert isinstance(problem, QueryProblem)
    assert "did you mean `upthrow`?" in problem.message


def test_the_page_has_every_word() -> None:
    named = set(re.findall(r"`([\w-]+)`", PAGE))
    short = {
        name
        for name, ids in move_ids().items()
        if not ids & ({1} | {*range(22, 48)} | {*range(57, 61), *range(63, 95)})
    }
    assert {*STATES, *PLACES, *(short - {"rapid-jabs"})} <= named
    assert {re.sub(r"\W", "", word) for word in named} >= starts().keys()


def test_every_group_has_states() -> None:
    for word, pattern in STATES.items():
        states = states_called(pattern)
        assert states.common or states.by_fighter, word
