"""Compare the setups of a tournament by looking at the values that their newest games reveal.

For each value, the newest game that shows it decides. If more than half of the setups share a value, it is the usual
one, and all other setups differ. If there is no usual value, the setups are split, and we can't know which of them are
right. If a setup doesn't show a value, we don't compare it. This module doesn't do any I/O.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from slpstream.parts.audit.findings import Audit, AuditedSetup, AuditedValue, Finding, Mark
from slpstream.parts.audit.played_games import (
    CLOCK,
    FRAME_RATE,
    STUTTERS,
    Measured,
    PlayedGame,
    measured_values,
)

_FEW_SETUPS = 3
"""A port that fewer setups have used is compared with the other ports, too. So is a port that at most half of them have
used."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for the games that are compared, and how much values that were measured may differ."""

    games: int = 5
    """Number of compared games of each setup. The newest ones count."""
    hours: float | None = None
    """Ignore games older than this, relative to the newest game of all setups."""
    now_ms: int | None = None
    """The Unix time in milliseconds. The newest game counts as played at this time if it claims a later one."""
    handwarmer_seconds: float = 30.0
    """The rules of shorter games count only if no other game shows them."""
    clock_seconds: float = 120.0
    frame_rate: float = 0.5
    stutters_per_minute: float = 10.0

    def tolerance(self, name: str) -> float:
        """Return how far two numbers can be apart if they should still count as equal."""
        return {CLOCK: self.clock_seconds, FRAME_RATE: self.frame_rate, STUTTERS: self.stutters_per_minute}[name]


class _Key(NamedTuple):
    """Identifies a value that is compared. It belongs to a port, or to the whole setup if the port is 0."""

    name: str
    port: int


class _Shown(NamedTuple):
    """A value of a setup, together with the game that shows it."""

    measured: Measured
    game_id: str
    lasting: bool


class _Verdict(NamedTuple):
    """The result of comparing one value over all setups.

    It contains either the usual value and those setups that differ from it, or the groups if the setups are split.
    """

    usual: _Shown | None
    agreeing: int
    """Number of setups that show only the usual value."""
    compared: int
    """Number of setups that show the value."""
    differing: Sequence[str]
    groups: Sequence[Sequence[str]]


def audit(
    setups: Mapping[str, Sequence[PlayedGame]],
    limits: Limits | None = None,
    names: Mapping[str, str] = MappingProxyType({}),
) -> Audit:
    """Compare setups by their games, which must begin with the newest.

    `names` contains the names to display, by the id of the setup.
    """
    limits = limits or Limits()
    since_ms = _since_ms((game.at_ms for games in setups.values() for game in games), limits)
    setups = {name: [game for game in games if game.at_ms >= since_ms] for name, games in setups.items()}
    recent = {name: _comparable(games)[: limits.games] for name, games in setups.items()}
    shown = {name: _values(games, limits) for name, games in recent.items()}
    verdicts = {key: _compare(key, shown, limits) for key in _keys(shown.values())}
    findings = [
        *(finding for key, verdict in verdicts.items() for finding in _findings(key, verdict, shown, names)),
        *(finding for name, games in recent.items() for finding in _changes(name, games, shown[name], limits, names)),
    ]
    marks: dict[tuple[str, _Key], Mark] = {
        (name, key): "split" if verdict.groups else "differs"
        for key, verdict in verdicts.items()
        for name in (*verdict.differing, *(name for group in verdict.groups for name in group))
    }
    return Audit(
        setups=[
            _setup(
                name,
                names.get(name, name),
                games,
                recent[name],
                {key: (values[key], marks.get((name, key), "")) for key in verdicts if key in values},
            )
            for (name, games), values in zip(setups.items(), shown.values(), strict=True)
        ],
        findings=findings,
    )


def _since_ms(played_at_ms: Iterable[int], limits: Limits) -> float:
    """Return how old a game can be if it should still count, as Unix time in milliseconds."""
    newest_ms = max(played_at_ms, default=0)
    if limits.hours is None:
        return -math.inf
    return min(newest_ms, newest_ms if limits.now_ms is None else limits.now_ms) - 3_600_000 * limits.hours


def _comparable(games: Sequence[PlayedGame]) -> list[PlayedGame]:
    return [game for game in games if not game.revealed.incomparable]


def _values(games: Sequence[PlayedGame], limits: Limits) -> dict[_Key, _Shown]:
    """Return the values of a setup. For each of them, the newest game that shows it decides."""
    found: dict[_Key, _Shown] = {}
    for key, seen in _seen(games, limits).items():
        newest = seen[0]
        lasting = len(seen) == 1 or _equal(newest[0], seen[1][0], limits)
        found[key] = _Shown(newest[0], newest[1].game_id, lasting)
    return found


def _seen(games: Sequence[PlayedGame], limits: Limits) -> dict[_Key, list[tuple[Measured, PlayedGame]]]:
    """Return all values that the games show, beginning with the newest.

    Handwarmers only tell us about the rules if no other game does.
    """
    seen: dict[_Key, list[tuple[Measured, PlayedGame]]] = {}
    for game in games:
        for measured in measured_values(game):
            value = measured.value
            seen.setdefault(_Key(value.name, value.port or 0), []).append((measured, game))
    for key, each in seen.items():
        if each[0][0].value.kind == "rules":
            seen[key] = [(value, game) for value, game in each if not _is_handwarmer(game, limits)] or each
    return seen


def _is_handwarmer(game: PlayedGame, limits: Limits) -> bool:
    return game.duration_seconds is not None and game.duration_seconds < limits.handwarmer_seconds


def _equal(one: Measured, other: Measured, limits: Limits) -> bool:
    if one.number is None or other.number is None:
        return one.value.value == other.value.value
    return abs(one.number - other.number) <= limits.tolerance(one.value.name)


def _keys(shown: Iterable[Mapping[_Key, _Shown]]) -> list[_Key]:
    """Return all values to compare, in the order in which they first appear.

    All ports of a value are next to each other.
    """
    keys = dict.fromkeys(key for values in shown for key in values)
    names = list(dict.fromkeys(key.name for key in keys))
    return sorted(keys, key=lambda key: (names.index(key.name), key.port))


def _compare(key: _Key, shown: Mapping[str, Mapping[_Key, _Shown]], limits: Limits) -> _Verdict:
    """Compare one value over all setups that show it."""
    voters = {name: values[key] for name, values in shown.items() if key in values}
    showing = [of_ports for values in shown.values() if key.port and (of_ports := _of_ports(values, key.name))]
    if key.port and (len(voters) < _FEW_SETUPS or 2 * len(voters) <= len(showing)):
        usual = _usual_of_all_ports(showing)
        if usual is not None:
            differing = [name for name, each in voters.items() if not _equal(each.measured, usual.measured, limits)]
            equal = sum(all(_equal(each.measured, usual.measured, limits) for each in of_ports) for of_ports in showing)
            return _Verdict(usual, equal, len(showing), differing, ())
    examples = {each.measured.value.value: each for each in voters.values()}
    agreeing = max((_agreeing(each, voters, limits) for each in examples.values()), key=len, default=[])
    if len(voters) == len(agreeing):
        return _Verdict(None, len(agreeing), len(voters), (), ())
    if 2 * len(agreeing) > len(voters):
        typical = sorted(agreeing, key=lambda name: voters[name].measured.number or 0.0)[len(agreeing) // 2]
        differing = [name for name in voters if name not in agreeing]
        return _Verdict(voters[typical], len(agreeing), len(voters), differing, ())
    groups: dict[str, list[str]] = {}
    for name, each in voters.items():
        groups.setdefault(each.measured.value.text, []).append(name)
    return _Verdict(None, 0, len(voters), (), sorted(groups.values(), key=len, reverse=True))


def _agreeing(one: _Shown, voters: Mapping[str, _Shown], limits: Limits) -> list[str]:
    return [name for name, other in voters.items() if _equal(one.measured, other.measured, limits)]


def _of_ports(values: Mapping[_Key, _Shown], name: str) -> list[_Shown]:
    """Return a value of a setup for all ports."""
    return [each for key, each in values.items() if key.name == name]


def _usual_of_all_ports(showing: Sequence[Sequence[_Shown]]) -> _Shown | None:
    """Return the value that more than half of the setups show on any port, if there's no other value that more setups
    show.
    """
    setups: Counter[str] = Counter()
    examples: dict[str, _Shown] = {}
    for of_ports in showing:
        setups.update({each.measured.value.value for each in of_ports})
        examples |= {each.measured.value.value: each for each in of_ports}
    (first, count), *others = setups.most_common(2)
    if 2 * count <= len(showing) or (others and others[0][1] == count):
        return None
    return examples[first]


def _findings(
    key: _Key, verdict: _Verdict, shown: Mapping[str, Mapping[_Key, _Shown]], names: Mapping[str, str]
) -> list[Finding]:
    if verdict.groups:
        return [_split(key, verdict.groups, shown, names)]
    usual = verdict.usual
    if usual is None:
        return []
    return [_difference(name, shown[name][key], usual, verdict, names) for name in verdict.differing]


def _difference(name: str, shown: _Shown, usual: _Shown, verdict: _Verdict, names: Mapping[str, str]) -> Finding:
    value, port = shown.measured.value, shown.measured.value.port
    others = verdict.compared - 1
    among = f"the other {others}" if verdict.agreeing == others else f"{verdict.agreeing} of the other {others}"
    newest = "" if shown.lasting else " (only in its newest game)"
    what = f"{value_words(shown)}, elsewhere {usual.measured.value.text}{newest}"
    return Finding(
        kind="differs",
        setups=[name],
        name=value.name,
        title=value.title,
        port=port,
        text=value.text,
        usual=usual.measured.value.text,
        game_id=shown.game_id,
        lasting=shown.lasting,
        words=f"{setup_words(names.get(name, name))} differs from {among}: {what}",
    )


def _split(
    key: _Key,
    groups: Sequence[Sequence[str]],
    shown: Mapping[str, Mapping[_Key, _Shown]],
    names: Mapping[str, str],
) -> Finding:
    first = shown[groups[0][0]][key]
    value = first.measured.value
    sides = [
        f"{shown[group[0]][key].measured.value.text} on {', '.join(names.get(each, each) for each in group)}"
        for group in groups
    ]
    where = "" if value.port is None else f" on port {value.port}"
    return Finding(
        kind="split",
        setups=[name for group in groups for name in group],
        name=value.name,
        title=value.title,
        port=value.port,
        lasting=all(shown[name][key].lasting for group in groups for name in group),
        words=f"the setups do not agree about {value.title}{where}: {'; '.join(sides)}",
    )


def _changes(
    name: str, games: Sequence[PlayedGame], shown: Mapping[_Key, _Shown], limits: Limits, names: Mapping[str, str]
) -> Iterable[Finding]:
    """Find the differences among the games of a single setup, which someone must have changed between two of them."""
    for key, seen in _seen(games, limits).items():
        newest = shown[key]
        if newest.measured.number is not None:
            continue  # measurements differ from game to game
        before = next(((each, game) for each, game in seen if not _equal(each, newest.measured, limits)), None)
        if before is None:
            continue
        value, (earlier, game) = newest.measured.value, before
        who = setup_words(names.get(name, name))
        yield Finding(
            kind="changed",
            setups=[name],
            name=value.name,
            title=value.title,
            port=value.port,
            text=value.text,
            usual=earlier.value.text,
            game_id=game.game_id,
            words=f"{who} has changed: {value_words(newest)}, before {earlier.value.text}",
        )


def _setup(
    setup: str,
    name: str,
    games: Sequence[PlayedGame],
    recent: Sequence[PlayedGame],
    values: Mapping[_Key, tuple[_Shown, Mark]],
) -> AuditedSetup:
    unknown = ""
    if not recent:
        unknown = games[0].revealed.incomparable if games else "no recent games"
    audited = [_audited(shown, mark) for shown, mark in values.values()]
    return AuditedSetup(
        setup=setup,
        name="" if name == setup else name,
        games=len(recent),
        values=audited,
        differences=sum(bool(each.mark) for each in audited),
        unknown=unknown,
    )


def _audited(shown: _Shown, mark: Mark) -> AuditedValue:
    value = shown.measured.value
    return AuditedValue(
        name=value.name,
        title=value.title,
        text=value.text,
        port=value.port,
        kind=value.kind,
        game_id=shown.game_id,
        mark=mark,
    )


def setup_words(name: str) -> str:
    """Return how to call a setup in a sentence. If its name is just a number, we write `setup` before it."""
    return f"setup {name}" if name.isdecimal() else name


def value_words(shown: _Shown) -> str:
    """Return how to call a value in a sentence, for example `UCF off on port 3`."""
    value = shown.measured.value
    where = "" if value.port is None else f" on port {value.port}"
    return f"{value.title} {value.text}{where}"
