"""The labelled replays, and the table that compares our check and slp-enforcer's on them.

    python -m tests.tournament.controllers.labelled

asks slp-enforcer again, and writes its answers (`enforcer.json`) and the table in `docs/tournament/controllers.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slpstream.api import open_replay
from slpstream.model.errors import FormatError
from slpstream.model.fields import parse_version
from slpstream.tournament.controllers.check import HEALTH_CHECKS, LEGALITY_CHECKS, MIN_LEGALITY_FRAMES
from slpstream.tournament.controllers.report import ControllerReport, PlayerControls
from tests.oracles.slp_enforcer import enforced
from tests.project import ROOT
from tests.replays import SHARED, SLP

CONTROLLERS = SHARED / "controllers"
ANSWERS = Path(__file__).with_name("enforcer.json")
PAGE = ROOT / "docs" / "tournament" / "controllers.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
SINCE = (3, 15, 0)
NONLEGAL = ("nonlegal", "banned C-stick")
"""The labels of controllers that the rules exclude."""
_THEIR_NAMES = {"tilt_rounding": "uptilt_rounding"}
_HEADINGS = {
    "travel_time": "travel time",
    "disallowed_cstick": "C-stick",
    "crouch_uptilt": "crouch uptilt",
    "sdi": "SDI",
    "input_fuzzing": "fuzzing",
    "goomwave": "Goomwave",
    "tilt_rounding": "tilt rounding",
}
UNEXPLAINED = "!"
REASONS = {
    "a": "Less than a minute: we do not judge the rules. slp-enforcer does, and marks the game as a handwarmer.",
    "b": "A computer player, or a stick that hardly moved. Without points on the rim, slp-enforcer takes it for a box.",
    "c": "The controller moves like neither type (the Orca has analog keys), so no rule of either is applied.",
    "d": "The types differ. slp-enforcer takes players who use few points of the rim for boxes, as in short games; we "
    "look at how the stick gets from point to point.",
    "e": "slp-enforcer counts few of the held points; we count them all, the cardinals too, on which all fuzzed boxes "
    "among these vary. `sdi_mash` is labelled legal for its SDI and has no fuzzing.",
    "f": "slp-enforcer flags a single repeat. Legal boxes have up to three a game; we ask how many there are.",
    "g": "We also count the mirrored points, -0.6625 and -0.8.",
    "h": "For slp-enforcer a single value in the gap rules rounding out. We compare the gap with what is beside it.",
    "i": "Close to slp-enforcer's limit of 25 %. By our count 30 % of the transitions show travel: 36 % are expected "
    "with the least travel time, 8 % at most without any, so it is far more likely that there is some.",
    "j": "The name of the file does not say which port the label is about. Both find it on the other one.",
}


class Row(NamedTuple):
    """One player of one replay, by both checks."""

    replay: str
    label: str
    ours: PlayerControls
    theirs: Any


def replays() -> list[Path]:
    """The replays with raw values of both axes, the labelled ones first."""
    labelled = sorted(CONTROLLERS.glob("*.slp"))
    return labelled + [path for path in sorted(SLP.glob("*.slp")) if _is_new(path)]


def _is_new(path: Path) -> bool:
    try:
        version = open_replay(path).settings.slp_version
    except FormatError:
        return False
    return parse_version(version) >= SINCE


@cache
def our_report(path: Path) -> ControllerReport:
    """Our report about a replay."""
    return open_replay(path).controllers()


def labelled_as(name: str) -> str:
    """The label in a file's name; empty without one."""
    if name.startswith("banned_c_stick"):
        return "banned C-stick"
    return name.split("~", maxsplit=1)[0] if "~" in name else ""


def labelled_port(name: str) -> int | None:
    """The port that a label is about, if it names one."""
    found = re.search(r"(?:^|[_~])p([1-4])(?=[_.~])|player_([1-4])", name)
    return None if found is None else int(found[1] or found[2])


def rows() -> Iterator[Row]:
    """The players of all replays."""
    answers = msgspec.json.decode(ANSWERS.read_bytes())
    for path in replays():
        answer = answers[path.name]
        label = labelled_as(path.name)
        for player in our_report(path).players:
            port = labelled_port(path.name)
            is_person = player.controller_basis != "a computer player"
            of_port = label if is_person and port in (None, player.port) else ""
            refused = {"type": "refuses", "checks": {}}
            yield Row(path.stem, of_port, player, answer.get("ports", {}).get(str(player.port), refused))


def ours(row: Row, check: str) -> str:
    """Our word about a check: `low`, `medium`, `high`, `-` for nothing to look at, `?` if it cannot be judged."""
    words = [finding.confidence for finding in row.ours.findings if finding.check == check]
    if words:
        return words[0]
    if any(each.check == check for each in row.ours.not_judged):
        return "?"
    return "-" if row.ours.controller == _type_of(check) else ""


def _type_of(check: str) -> str:
    return "analog" if check in ("goomwave", "tilt_rounding") else "box"


def theirs(row: Row, check: str) -> str:
    """slp-enforcer's word: `fails`, `-`, or nothing if the check is not for this type."""
    found = row.theirs["checks"].get(_THEIR_NAMES.get(check, check))
    return "" if found is None else "fails" if found else "-"


def disagrees(row: Row, check: str) -> bool:
    """Whether one of both has found something that the other has not."""
    return (ours(row, check) in ("low", "medium", "high")) != (theirs(row, check) == "fails")


def types_disagree(row: Row) -> bool:
    """Whether the controller is of another type for slp-enforcer, which refuses some replays."""
    return _their_type(row) not in (row.ours.controller, "refuses")


def _their_type(row: Row) -> str:
    return str(row.theirs["type"]).lower()


def reason(row: Row, check: str) -> str | None:
    """The letter of the reason why both disagree about a check."""
    player = row.ours
    is_short = player.frames < MIN_LEGALITY_FRAMES
    if check == "disallowed_cstick" and is_short:  # whether the main stick has moved plays no part in it
        return "a"
    if player.controller == "unknown":
        return "b"
    if is_short:
        return "a"
    if types_disagree(row):
        return reason_of_types(row)
    found = (check, theirs(row, check))
    by_check = {
        ("input_fuzzing", "-"): "e",
        ("sdi", "fails"): "f",
        ("disallowed_cstick", "-"): "g",
        ("tilt_rounding", "-"): "h",
        ("travel_time", "fails"): "i",
    }
    return by_check.get(found)


def reason_of_types(row: Row) -> str | None:
    """The letter of the reason why both disagree about the type; `None` if there is none."""
    pair = (row.ours.controller, _their_type(row))
    by_pair = {("unknown", "box"): "b", ("unclear", "analog"): "c", ("analog", "box"): "d"}
    return by_pair.get(pair)


def reason_of_label(row: Row, others: Sequence[Row]) -> str | None:
    """The letter that explains a nonlegal label without a finding: the label may be about one of the other players."""
    if row.label not in NONLEGAL or _is_flagged(row):
        return None
    if labelled_port(f"{row.replay}.slp") is None and any(_is_flagged(other) for other in others):
        return "j"
    is_found = any(f.group == "legality" for f in row.ours.findings)
    return None if is_found or row.ours.frames < MIN_LEGALITY_FRAMES else UNEXPLAINED


def _is_flagged(row: Row) -> bool:
    """Whether both checks have found something that the rules exclude."""
    return any(f.group == "legality" for f in row.ours.findings) and True in row.theirs["checks"].values()


def health(row: Row) -> str:
    """The results of the checks of health: findings, then what cannot be judged; `-` for nothing to look at."""
    found = [f for f in row.ours.findings if f.group == "health"]
    words = [f"{f.check} {f.confidence} ({f.part})" for f in found]
    unknown = {each.check for each in row.ours.not_judged} - {f.check for f in found}
    without = [check for check in HEALTH_CHECKS if check in unknown]
    if len(without) == len(HEALTH_CHECKS):
        return "?"
    return "; ".join([*words, *([f"? {', '.join(without)}"] if without else [])]) or "-"


def table() -> str:
    """The table in Markdown, with the reasons."""
    headings = [*(_HEADINGS[check] for check in LEGALITY_CHECKS), "health"]
    lines = [
        "| replay | port | label | controller | " + " | ".join(headings) + " |",
        "| --- " * (4 + len(headings)) + "|",
    ]
    used: set[str | None] = set()

    def with_letter(text: str, letter: str | None) -> str:
        used.add(letter)
        return f"{text} ({letter})" if letter else text

    every = list(rows())
    for row in every:
        others = [other for other in every if other.replay == row.replay and other is not row]
        label = with_letter(row.label, reason_of_label(row, others))
        kind = f"{row.ours.controller} / {_their_type(row)}"
        kind = with_letter(kind, (reason_of_types(row) or UNEXPLAINED) if types_disagree(row) else None)
        cells = []
        for check in LEGALITY_CHECKS:
            mine, other = ours(row, check), theirs(row, check)
            both = f"{mine or '.'} / {other or '.'}" if mine or other else ""
            why = (reason(row, check) or UNEXPLAINED) if disagrees(row, check) else None
            cells.append(with_letter(both, why))
        name = row.replay.replace("~", " ")
        lines.append(f"| {name} | {row.ours.port} | {label} | {kind} | " + " | ".join([*cells, health(row)]) + " |")
    reasons = [f"- **{letter}**: {text}" for letter, text in REASONS.items() if letter in used]
    return "\n".join([*lines, "", "The letters:", "", *reasons])


def with_table(page: str) -> str:
    """The page with a new table."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def ask(paths: Sequence[Path]) -> dict[str, Any]:
    """slp-enforcer's answers by file name."""
    return {path.name: answer for path, answer in zip(paths, enforced(paths), strict=True)}


if __name__ == "__main__":
    ANSWERS.write_bytes(msgspec.json.format(msgspec.json.encode(ask(replays())), indent=1) + b"\n")
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
