"""Properties of sets of generated games under generated corrections."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.sets import (
    Corrections,
    ImpossibleCorrection,
    Ledger,
    PlayedGame,
    Player,
    Rules,
    SetPatch,
    changed,
    corrected,
    newest_set,
    score_of,
    sets_of,
    since_break,
    undone,
)
from slpstream.sets.changes import blocked_by, decode, encode, undone_by
from slpstream.sets.corrections import NOTHING
from slpstream.sets.grouping import Set

EXAMPLES = 40
NAMES = ("", "", "Ann", "Bob", "Cyd")
SETTINGS = settings(max_examples=EXAMPLES)


@st.composite
def players(draw: st.DrawFn) -> list[Player]:
    indices = draw(st.sampled_from([(0, 1), (0, 1), (1, 0), (0, 2), (2, 3), (0, 1, 2, 3), (0, 1, 2), (1,)]))
    name = st.sampled_from(NAMES)
    return [
        Player(
            index=index,
            port=index + 1,
            connect_code=draw(name),
            netplay_name=draw(name),
            tag=draw(name),
            character_id=draw(st.integers(0, 25)),
            team=draw(st.integers(0, 2)),
            human=draw(st.integers(0, 9)) > 0,
            start_stocks=draw(st.sampled_from([None, 1, 4])),
            stocks=draw(st.sampled_from([None, 0, 2, 4])),
            percent=draw(st.sampled_from([None, 0.0, float("nan")])),
        )
        for index in indices
    ]


@st.composite
def games(draw: st.DrawFn) -> list[PlayedGame]:
    generated: list[PlayedGame] = []
    at_ms = 0
    seats = draw(players())
    for number in range(draw(st.integers(0, 14))):
        if draw(st.integers(0, 3)) == 0:
            seats = draw(players())
        seconds = draw(st.sampled_from([None, 5.0, 100.0, 400.0]))
        at_ms += round(1000 * ((seconds or 0) + draw(st.sampled_from([20, 300, 3600]))))
        generated.append(
            PlayedGame(
                game_id=f"{number:032x}",
                players=seats,
                is_teams=draw(st.integers(0, 3)) == 0,
                match_id=draw(st.sampled_from(["", "", "", "one", "two"])),
                said_at_ms=draw(st.sampled_from([None, at_ms])),
                written_at_ms=at_ms,
                duration_seconds=seconds,
                in_progress=draw(st.integers(0, 9)) == 0,
                reason=draw(st.sampled_from(["game_end", "game_end", "game_end", "incomplete", "error", None])),
                ending=draw(st.sampled_from([None, "quit", "time", "finished", "finished", "finished"])),
                quitter=draw(st.sampled_from([None, 0, 1])),
                winners=draw(st.lists(st.sampled_from([0, 1, 2, 3]), max_size=2)),
            )
        )
    return generated


KEYS = st.sampled_from(["0", "1", "2", "3"])
GAME_PATCHES = st.fixed_dictionaries(
    {},
    optional={
        "counts": st.sampled_from([None, True, False]),
        "winner": st.sampled_from([None, 0, 1]),
        "beginsSet": st.sampled_from([None, True, False]),
        "sides": st.none() | st.dictionaries(KEYS, st.integers(0, 3), max_size=2),
    },
)
DETAILS = st.fixed_dictionaries(
    {},
    optional={
        "sponsor": st.sampled_from([None, "", "GG", " Team\tX "]),
        "pronouns": st.sampled_from([None, "they/them"]),
        "seed": st.none() | st.integers(1, 3),
    },
)
PATCHES = st.fixed_dictionaries(
    {},
    optional={
        "names": st.none() | st.dictionaries(KEYS, st.sampled_from([None, "", "Ann", " Bob\n", "Zoe"]), max_size=2),
        "score": st.none() | st.dictionaries(KEYS, st.none() | st.integers(0, 6), max_size=2),
        "bestOf": st.none() | st.integers(1, 7),
        "games": st.none()
        | st.dictionaries(st.integers(0, 15).map(lambda n: f"{n:032x}"), st.none() | GAME_PATCHES, max_size=3),
        "newSet": st.booleans(),
        "players": st.none() | st.dictionaries(KEYS, st.none() | DETAILS, max_size=2),
        "round": st.sampled_from([None, "", "Pools", "Final"]),
        "event": st.sampled_from([None, "Weekly 12"]),
        "casters": st.sampled_from([None, [], ["Ann"], ["Ann", " Bob "]]),
        "swapped": st.sampled_from([None, True, False]),
    },
)
RULES = st.builds(Rules, best_of=st.integers(1, 7), quit_counts=st.booleans())
SCRIPTS = st.lists(st.tuples(st.integers(0, 15), PATCHES), max_size=6)


def ledger_after(games: Sequence[PlayedGame], script: Sequence[tuple[int, dict[str, Any]]], rules: Rules) -> Ledger:
    """The ledger after a script of patches, each made after a number of games; impossible patches are skipped."""
    ledger = Ledger()
    for count, patch in sorted(script, key=lambda step: step[0]):
        newest = partial(newest_set, games[:count], rules=rules)
        try:
            ledger = changed(ledger, msgspec.convert(patch, SetPatch), newest, at_ms=1000 * count, by="Eve")
        except ImpossibleCorrection:
            continue
    return ledger


def corrections_after(
    games: Sequence[PlayedGame], script: Sequence[tuple[int, dict[str, Any]]], rules: Rules
) -> Corrections:
    return ledger_after(games, script, rules).corrections


def untouched(found: Set, corrections: Corrections) -> bool:
    """Whether the score, the length and the games of this set have no corrections."""
    entries = [getattr(corrections, kind).get(key) for kind, key in found.places]
    uncorrected = all(entry is None or (not entry.score and entry.best_of is None) for entry in entries)
    return uncorrected and all(corrections.games.get(game.game_id, NOTHING) == NOTHING for game in found.games)


@given(games(), SCRIPTS, RULES)
@SETTINGS
def test_sets_are_consistent(games: list[PlayedGame], script: list[tuple[int, dict[str, Any]]], rules: Rules) -> None:
    corrections = corrections_after(games, script, rules)
    sets = sets_of(games, corrections, rules)
    versus_games = [game for game in games if len(game.sides()) > 1]
    assert [game for each in sets for game in each.games] == versus_games, "each game is in exactly one set, in order"
    for each in sets:
        score = score_of(each, corrections)
        for place, side in enumerate(each.sides):
            counted = sum(entry.judgement.counts and entry.winner == place for entry in each.entries)
            assert side.won == counted
            assert side.score == max(0, counted + side.added)
        for entry in each.entries:
            assert entry.judgement.reason
            assert not entry.judgement.counts or entry.winner is not None
            assert sorted(entry.places) == list(range(len(each.sides)))
        if untouched(each, corrections):
            assert each.best_of == rules.best_of
            assert sum(side.won for side in each.sides) <= each.best_of
            assert max(side.won for side in each.sides) <= each.wins_needed
            counted_before = [entry for entry in each.entries[:-1] if entry.judgement.counts]
            wins = [sum(e.winner == place for e in counted_before) for place in range(len(each.sides))]
            assert max(wins) < each.wins_needed, "nothing counts once a set is over"
        members = [(player.player_index, player.side) for player in score.players]
        assert len({index for index, _ in members}) == len(members), "one member for each player index"
        assert score.score == [score.sides[player.side].score for player in score.players]
        if each.games:
            assert sorted(index for index, _ in members) == sorted(p.index for p in each.games[-1].players)
        assert msgspec.json.decode(msgspec.json.encode(score), type=type(score)) == score


@pytest.mark.slow
@given(games(), SCRIPTS, RULES)
@SETTINGS
def test_same_set_after_restart_and_from_the_last_break(
    games: list[PlayedGame], script: list[tuple[int, dict[str, Any]]], rules: Rules
) -> None:
    corrections = corrections_after(games, script, rules)
    score = score_of(newest_set(games, corrections, rules), corrections)
    ledger = decode(encode(Ledger(corrections)))
    decoded = ledger.corrections
    assert ledger == Ledger(corrections)
    assert score_of(newest_set(tuple(games), decoded, rules), decoded) == score
    versus_games = [game for game in games if len(game.sides()) > 1]
    first = since_break(versus_games, corrections, rules)
    if first is not None:
        assert score_of(newest_set(versus_games[first:], decoded, rules), decoded) == score


@pytest.mark.slow
@given(games(), SCRIPTS, RULES, PATCHES)
@SETTINGS
def test_correction_takes_effect(
    games: list[PlayedGame], script: list[tuple[int, dict[str, Any]]], rules: Rules, patch: dict[str, Any]
) -> None:
    corrections = corrections_after(games, script, rules)

    def newest(corrections: Corrections) -> Set:
        return newest_set(games, corrections, rules)

    try:
        after = corrected(corrections, msgspec.convert(patch, SetPatch), newest)
    except ImpossibleCorrection:
        return
    found = newest(after)
    assert corrected(after, SetPatch(), newest) == after, "an empty patch changes nothing"
    if patch.get("newSet"):
        assert all(game.in_progress for game in found.games), "a new set has no finished games"
    if patch.get("bestOf") is not None:
        assert found.best_of == patch["bestOf"]
    names = patch.get("names") or {}
    shown = {member.index: member.name for member in found.members}
    for key, name in names.items():
        if len(names) == 1:
            assert shown[int(key)] == " ".join((name or "").split())
    scores = patch.get("score") or {}
    if len(scores) == 1:
        [(key, score)] = scores.items()
        side = found.side(int(key))
        assert side is not None
        assert side.score == (side.won if score is None else score)
    if "score" in patch and patch["score"] is None:
        assert all(side.added == 0 for side in found.sides)
    if len(patch.get("players") or {}) == 1:
        [(key, details)] = patch["players"].items()
        member = found.member(int(key))
        assert member is not None
        for field in ("sponsor", "pronouns", "seed"):
            if details is None or field in details:
                value = (details or {}).get(field)
                expected = " ".join(value.split()) if isinstance(value, str) else value
                assert getattr(member.details, field) == (expected or None)
    for field in ("round", "swapped"):
        if field in patch:
            assert (getattr(found, field) or None) == (patch[field] or None)


@given(games(), SCRIPTS, RULES, st.data())
@SETTINGS
def test_undoing_everything_returns_to_the_start(
    games: list[PlayedGame], script: list[tuple[int, dict[str, Any]]], rules: Rules, data: st.DataObject
) -> None:
    """Changes are undone in any order that no later change forbids, and none remains. Undoing the undoing restores
    them."""
    ledger = ledger_after(games, script, rules)
    assert [change.id for change in ledger.changes] == list(range(1, len(ledger.changes) + 1))
    made, corrections = ledger.changes, ledger.corrections
    while left := [change.id for change in made if change.id not in undone_by(ledger.changes)]:
        free = [change_id for change_id in left if change_id not in blocked_by(ledger.changes)]
        assert max(left) in free
        for change_id in set(left) - set(free):
            with pytest.raises(ImpossibleCorrection, match="first"):
                undone(ledger, change_id, at_ms=0)
        ledger = undone(ledger, data.draw(st.sampled_from(free)), at_ms=1)
    assert ledger.corrections == Corrections()
    for change in reversed(ledger.changes[len(made) :]):
        ledger = undone(ledger, change.id, at_ms=2)
    assert ledger.corrections == corrections
    assert decode(encode(ledger)) == ledger
