"""The check on replays of labelled controllers, beside slp-enforcer 2.3.3."""

from __future__ import annotations

import re

import msgspec
import pytest

from slpstream.tournament.controllers.check import LEGALITY_CHECKS, MIN_LEGALITY_FRAMES
from tests.oracles import slp_enforcer
from tests.oracles.slp_enforcer import needs_slp_enforcer
from tests.replays import needs_shared
from tests.tournament.controllers import labelled

pytestmark = needs_shared


@pytest.fixture(scope="module")
def rows() -> list[labelled.Row]:
    return list(labelled.rows())


def test_labels_name_their_port() -> None:
    ports = {
        "legal~analog~xbox_p2~Game_20250209T181347.slp": 2,
        "legal~digital~fuzzing~Game_20260213T161751_p1.slp": 1,
        "nonlegal~analog~goomwave_uptilt_p1.slp": 1,
        "nonlegal~digital~pre-ruleset~p4_Game_002147A7254F_20231021T075046.slp": 4,
        "banned_c_stick_analog_player_1.slp": 1,
        "nonlegal~analog~goomwave~Game_20250216T194607.slp": None,
    }
    assert {name: labelled.labelled_port(name) for name in ports} == ports


def test_players_have_the_label_of_their_port(rows: list[labelled.Row]) -> None:
    labels = {(row.replay, row.ours.port): row.label for row in rows}
    assert labels["banned_c_stick_analog_player_1", 1] == "banned C-stick"
    assert labels["legal~analog~xbox_p2~Game_20250209T181347", 1] == ""
    assert labels["legal~analog~xbox_p2~Game_20250209T181347", 2] == "legal"


def test_legal_controllers_are_never_flagged_with_high_confidence(rows: list[labelled.Row]) -> None:
    legal = [row for row in rows if row.replay.startswith("legal") and row.label]
    assert len(legal) > 20
    for row in legal:
        words = {f.check: f.confidence for f in row.ours.findings if f.group == "legality"}
        assert "high" not in words.values(), row


def test_nonlegal_controllers_that_can_be_judged_are_flagged(rows: list[labelled.Row]) -> None:
    """In each such replay, and on the port that the label names."""
    replays = {row.replay for row in rows if row.label in labelled.NONLEGAL}
    judged = {row.replay for row in rows if row.replay in replays and row.ours.frames >= MIN_LEGALITY_FRAMES}
    flagged = {
        row.replay
        for row in rows
        if row.label in labelled.NONLEGAL
        and any(f.group == "legality" for f in row.ours.findings if f.confidence == "high")
    }
    assert flagged == judged
    assert len(replays - judged) == 3  # games of less than a minute


def test_opponents_without_a_label_are_not_flagged(rows: list[labelled.Row]) -> None:
    """The opponents of nonlegal controllers, and the analog sticks of all other replays."""
    for row in rows:
        if row.ours.controller == "analog" and row.label not in labelled.NONLEGAL:
            assert not [f for f in row.ours.findings if f.group == "legality"], row


def test_healthy_controllers_are_rarely_flagged(rows: list[labelled.Row]) -> None:
    """The health of these is not labelled. Two of some sixty have something to look at: a button R, and a trigger."""
    health = [
        (row.replay, f.check, f.part, f.confidence)
        for row in rows
        if row.label
        for f in row.ours.findings
        if f.group == "health"
    ]
    assert sorted((check, confidence) for _, check, _, confidence in health) == [
        ("stutter", "medium"),
        ("trigger", "low"),
    ]


def test_each_disagreement_is_explained(rows: list[labelled.Row]) -> None:
    unexplained = [
        (row.replay, row.ours.port, check, labelled.ours(row, check), labelled.theirs(row, check))
        for row in rows
        for check in LEGALITY_CHECKS
        if labelled.disagrees(row, check) and labelled.reason(row, check) is None
    ]
    assert unexplained == []


def test_each_difference_of_types_is_explained(rows: list[labelled.Row]) -> None:
    different = [row for row in rows if labelled.types_disagree(row)]
    assert len(different) > 10
    unexplained = [
        (row.replay, row.ours.port, row.ours.controller, row.theirs["type"])
        for row in different
        if labelled.reason_of_types(row) is None
    ]
    assert unexplained == []


def test_each_nonlegal_label_without_a_finding_is_explained(rows: list[labelled.Row]) -> None:
    """The game is too short, or both checks find it on the other port and the name does not say which one is meant."""
    unexplained = [
        (row.replay, row.ours.port)
        for row in rows
        if row.label in labelled.NONLEGAL
        and row.ours.frames >= MIN_LEGALITY_FRAMES
        and not any(f.group == "legality" for f in row.ours.findings)
        and labelled.reason_of_label(row, [other for other in rows if other.replay == row.replay]) is None
    ]
    assert unexplained == []


def test_each_reason_is_used() -> None:
    _, _, reasons = labelled.table().partition("The letters:")
    assert re.findall(r"- \*\*(.)\*\*", reasons) == list(labelled.REASONS)


def test_page_has_the_table() -> None:
    page = labelled.PAGE.read_text("utf-8")
    assert labelled.with_table(page) == page, "run: python -m tests.tournament.controllers.labelled"


@needs_slp_enforcer
def test_answers_of_slp_enforcer_are_current() -> None:
    assert slp_enforcer.version() == "2.3.3"
    assert labelled.ask(labelled.replays()) == msgspec.json.decode(labelled.ANSWERS.read_bytes())
