"""The labelled replays, and the table that compares our check and slp-enforcer's on them.

    python -m tests.parts.controllers.labelled

asks slp-enforcer again, and writes its answers (`enforcer.json`) and the table in `labelled.md`. The
letters, which explain disagreements, are written there by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slpstream.api import open_replay
from slpstream.model.controller_report import ControllerReport, PlayerControls
from slpstream.model.errors import FormatError
from slpstream.model.fields import parse_version
from slpstream.parts.controllers.check import HEALTH_CHECKS, LEGALITY_CHECKS, MIN_LEGALITY_FRAMES
from tests.oracles.slp_enforcer import enforced
from tests.replays import SHARED, SLP

CONTROLLERS = SHARED / "controllers"
ANSWERS = Path(__file__).with_name("enforcer.json")
PAGE = Path(__file__).with_suffix(".md")
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
SINCE = (3, 15, 0)
NONLEGAL = ("nonlegal", "banned C-stick")
"""The labels of controllers that the rules forbid."""
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
    """Our result of a check: `low`, `medium`, `high`, `-` for no finding, `?` if it cannot be judged."""
    words = [finding.confidence for finding in row.ours.findings if finding.check == check]
    if words:
        return words[0]
    if any(each.check == check for each in row.ours.not_judged):
        return "?"
    return "-" if row.ours.controller == _type_of(check) else ""


def _type_of(check: str) -> str:
    return "analog" if check in ("goomwave", "tilt_rounding") else "box"


def theirs(row: Row, check: str) -> str:
    """slp-enforcer's result: `fails`, `-`, or empty if the check is not for this type."""
    found = row.theirs["checks"].get(_THEIR_NAMES.get(check, check))
    return "" if found is None else "fails" if found else "-"


def disagrees(row: Row, check: str) -> bool:
    """Whether only one of the two checks has found something."""
    return (ours(row, check) in ("low", "medium", "high")) != (theirs(row, check) == "fails")


def types_disagree(row: Row) -> bool:
    """Whether the controller is of another type for slp-enforcer, which refuses some replays."""
    return _their_type(row) not in (row.ours.controller, "refuses")


def _their_type(row: Row) -> str:
    return str(row.theirs["type"]).lower()


def health(row: Row) -> str:
    """The results of the checks of health: findings, then checks without a result; `-` for no finding."""
    found = [f for f in row.ours.findings if f.group == "health"]
    words = [f"{f.check} {f.confidence} ({f.part})" for f in found]
    unknown = {each.check for each in row.ours.not_judged} - {f.check for f in found}
    without = [check for check in HEALTH_CHECKS if check in unknown]
    if len(without) == len(HEALTH_CHECKS):
        return "?"
    return "; ".join([*words, *([f"? {', '.join(without)}"] if without else [])]) or "-"


def letters(page: str) -> dict[tuple[str, str, int, str], str]:
    """The letters on the page, which a person has assigned, by replay, port, column and text of the cell."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    found = [(row, i, re.fullmatch(r"(.*) \((.)\)", cell)) for row in lines for i, cell in enumerate(row)]
    return {(row[0], row[1], i, cell[1]): cell[2] for row, i, cell in found if cell is not None}


def table(page: str) -> str:
    """The table in Markdown. Disagreements keep their letters from the page; new ones get `UNEXPLAINED`."""
    known = letters(page)
    headings = [*(_HEADINGS[check] for check in LEGALITY_CHECKS), "health"]
    lines = [
        "| replay | port | label | controller | " + " | ".join(headings) + " |",
        "| --- " * (4 + len(headings)) + "|",
    ]
    for row in rows():
        name, port = row.replay.replace("~", " "), str(row.ours.port)
        without_finding = row.label in NONLEGAL and not any(f.group == "legality" for f in row.ours.findings)
        cells = [(row.label, without_finding and row.ours.frames >= MIN_LEGALITY_FRAMES)]
        cells.append((f"{row.ours.controller} / {_their_type(row)}", types_disagree(row)))
        for check in LEGALITY_CHECKS:
            mine, other = ours(row, check), theirs(row, check)
            cells.append((f"{mine or '.'} / {other or '.'}" if mine or other else "", disagrees(row, check)))
        explained = [
            f"{text} ({known.get((name, port, i, text), UNEXPLAINED)})" if disagree else text
            for i, (text, disagree) in enumerate(cells, 2)
        ]
        lines.append(f"| {name} | {port} | " + " | ".join([*explained, health(row)]) + " |")
    return "\n".join(lines)


def with_table(page: str) -> str:
    """The page with a new table."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(page)}\n{END}{after}"


def ask(paths: Sequence[Path]) -> dict[str, Any]:
    """slp-enforcer's results by file name."""
    return {path.name: answer for path, answer in zip(paths, enforced(paths), strict=True)}


if __name__ == "__main__":
    ANSWERS.write_bytes(msgspec.json.format(msgspec.json.encode(ask(replays())), indent=1) + b"\n")
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
