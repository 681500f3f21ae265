"""The check on replays of labelled controllers, compared with slp-enforcer 2.3.3."""

from __future__ import annotations

import re

import msgspec
import pytest

from slpstream.parts.controllers.check import MIN_LEGALITY_FRAMES
from tests.oracles import slp_enforcer
from tests.oracles.slp_enforcer import needs_slp_enforcer
from tests.parts.controllers import labelled
from tests.replays import needs_shared

pytestmark = needs_shared


@pytest.fixture(scope="module")
def rows() -> list[labelled.Row]:
    return list(labelled.rows())


def test_legal_controllers_are_never_flagged_with_high_confidence(rows: list[labelled.Row]) -> None:
    legal = [row for row in rows if row.replay.startswith("legal") and row.label]
    assert len(legal) > 20
    for row in legal:
        words = {f.check: f.confidence for f in row.ours.findings if f.group == "legality"}
        assert "high" not in words.values(), row


def test_judged_nonlegal_controllers_are_flagged(rows: list[labelled.Row]) -> None:
    """In each of their replays, on the port that the label names."""
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
    """Their health is not labelled. Two of some sixty have a finding: a button R, and a trigger."""
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


def test_page_has_the_table_and_each_disagreement_is_explained() -> None:
    """Each explanation is one of the listed reasons, and each reason is used."""
    page = labelled.PAGE.read_text("utf-8")
    assert labelled.with_table(page) == page, "run: python -m tests.parts.controllers.labelled"
    assert sorted(set(labelled.letters(page).values())) == re.findall(r"^- \*\*(.)\*\*", page, re.MULTILINE)


@needs_slp_enforcer
def test_answers_of_slp_enforcer_are_current() -> None:
    assert slp_enforcer.version() == "2.3.3"
    assert labelled.ask(labelled.replays()) == msgspec.json.decode(labelled.ANSWERS.read_bytes())
