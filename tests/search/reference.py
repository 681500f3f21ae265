"""A second, naive implementation of queries for games, written from the Launcher's rules and not from slpstream's code.

It knows the Launcher's syntax alone: no extensions. It reads the neutral summary and builds no terms and no SQL.
"""

from __future__ import annotations

import math
import operator
import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from slpstream.formats.slippi.names import characters, stages
from slpstream.model.summary import GameSummary, PlayerSummary

CHARACTER_ALIASES = {
    "cf": "Captain Falcon", "falcon": "Captain Falcon", "dk": "Donkey Kong", "gnw": "Mr. Game & Watch",
    "g&w": "Mr. Game & Watch", "m2": "Mewtwo", "ics": "Ice Climbers", "puff": "Jigglypuff", "yl": "Young Link",
    "ylink": "Young Link", "doc": "Dr. Mario", "ganon": "Ganondorf",
}  # fmt: skip
STAGE_ALIASES = {
    "fod": "Fountain of Dreams", "fountain": "Fountain of Dreams", "ps": "Pokémon Stadium",
    "stadium": "Pokémon Stadium", "ys": "Yoshi's Story", "dl": "Dream Land N64", "dreamland": "Dream Land N64",
    "bf": "Battlefield",
    "fd": "Final Destination",
}  # fmt: skip


class ListedGame(NamedTuple):
    """A game as the Launcher's list has it."""

    summary: GameSummary
    file_name: str
    last_frame: int | None
    began: datetime | None


Rule = Callable[[ListedGame], bool]
Bounds = dict[str, Any]
"""The Launcher keeps one bound of each sign: `>=`, `<=` and `<`. A later one takes the place of an earlier one."""


def accepts(query: str, me: tuple[str, ...]) -> Rule:
    """The rule that a query of the Launcher's syntax means. Only for queries without mistakes."""
    rules: list[Rule] = []
    bounds: dict[tuple[str, bool], Bounds] = {}
    kinds: dict[tuple[bool, bool], Rule] = {}
    stages_named: set[str] = set()
    words: list[str] = []
    for whole in _tokens(query):
        token = whole.lstrip("-")
        negated = token != whole
        if token.startswith('"'):
            words.append(token[1:-1])
        elif token == "@me":
            mine: Rule = lambda game: any(p.code in me for p in game.summary.players)  # noqa: E731
            rules.append(_opposite(mine) if negated else mine)
        elif ":" in token:
            key, _, value = token.partition(":")
            key = {"character": "char", "length": "duration", "name": "tag"}.get(key.lower(), key.lower())
            if key == "stage" and not negated:
                stages_named |= _named(value, {s.name for s in stages().values()}, STAGE_ALIASES)
                continue
            if key in ("duration", "date"):
                found = _duration(value) if key == "duration" else _date(value)
                bounds[key, negated] = bounds.get((key, negated), {}) | found
                continue
            rule = _filter(key, value, me)
            rule = _opposite(rule) if negated else rule
            if key == "is":
                kinds[value.lower().endswith("ranked"), negated] = rule
            else:
                rules.append(rule)
        elif ">" in token:
            rules.append(_matchup(*token.split(">")))
        else:
            words.append(token)
    if stages_named:
        rules.append(lambda game: game.summary.place.name in stages_named)
    text = " ".join(words).casefold()
    if text:
        rules.append(lambda game: any(text in each.casefold() for each in _texts(game)))
    rules += [*kinds.values(), *(_within(key, each, negated) for (key, negated), each in bounds.items())]
    return lambda game: all(rule(game) for rule in rules)


def _tokens(query: str) -> list[str]:
    return re.findall(r'-?\w+:"[^"]*"|"[^"]*"|\S+', query)


def _texts(game: ListedGame) -> list[str]:
    players = game.summary.players
    return [game.file_name, *(text for p in players for text in (p.code, p.name, p.tag))]


def _opposite(rule: Rule) -> Rule:
    return lambda game: not rule(game)


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFD", name.lower())
    return "".join(c for c in letters if not unicodedata.combining(c) and c != "'").replace(" ", "_")


def _named(value: str, names: set[str], aliases: dict[str, str]) -> set[str]:
    if value.startswith('"'):
        wanted = _plain(value[1:-1])
        return {name for name in names if _plain(name) == wanted or aliases.get(wanted) == name}
    found: set[str] = set()
    for part in value.split(","):
        wanted = _plain(part)
        exact = {name for name in names if _plain(name) == wanted} or {aliases[wanted]} if wanted in aliases else set()
        exact = exact or {name for name in names if _plain(name) == wanted}
        found |= exact or {name for name in names if wanted in _plain(name)}
    return found


def _characters(value: str) -> set[str]:
    return _named(value, {c.name for c in characters().values()}, CHARACTER_ALIASES)


def _winners(summary: GameSummary) -> list[PlayerSummary]:
    return [player for player in summary.players if player.index in summary.winners]


def _losers(summary: GameSummary) -> list[PlayerSummary]:
    return [p for p in summary.players if p.index not in summary.winners] if summary.winners else []


def _matchup(won: str, lost: str) -> Rule:
    def rule(game: ListedGame) -> bool:
        first = not won or any(p.character.name in _characters(won) for p in _winners(game.summary))
        second = not lost or any(p.character.name in _characters(lost) for p in _losers(game.summary))
        return first and second

    return rule


def _filter(key: str, value: str, me: tuple[str, ...]) -> Rule:
    if key == "char":
        wanted = _characters(value)
        return lambda game: any(p.character.name in wanted for p in game.summary.players)
    if key == "stage":
        places = _named(value, {s.name for s in stages().values()}, STAGE_ALIASES)
        return lambda game: game.summary.place.name in places
    if key == "is":
        return {
            "ranked": lambda game: game.summary.match_id != "",
            "unranked": lambda game: game.summary.match_id == "",
            "singles": lambda game: not game.summary.is_teams,
            "doubles": lambda game: game.summary.is_teams,
            "teams": lambda game: game.summary.is_teams,
        }[value.lower()]
    if key == "code":
        return lambda game: any(p.code in value.split(",") for p in game.summary.players)
    if key == "tag":
        part = value.strip('"').casefold()
        return lambda game: any(part in n.casefold() for p in game.summary.players for n in (p.name, p.tag))
    side = _winners if key == "winner" else _losers
    if value == "@me":
        return lambda game: any(p.code in me for p in side(game.summary))
    if "#" in value:
        return lambda game: any(p.code == value.strip('"') for p in side(game.summary))
    if value.startswith('"'):
        whole = value[1:-1].casefold()
        return lambda game: any(whole in (p.name.casefold(), p.tag.casefold()) for p in side(game.summary))
    return lambda game: any(value.casefold() in n.casefold() for p in side(game.summary) for n in (p.name, p.tag))


def _duration(value: str) -> Bounds:
    units = {"h": 3600, "m": 60, "s": 1, "f": 1 / 60}
    seconds = sum(float(n) * units[unit] for n, unit in re.findall(r"([\d.]+)([hmsf])", value))
    return {"<=" if value.startswith("<") else ">=": math.floor(seconds * 60 + 1e-6) - 123}


def _date(value: str) -> Bounds:
    sign, digits = re.fullmatch(r"([<>]?=?)(.*)", value).groups()  # type: ignore[union-attr]
    parts = [int(part) for part in digits.split("-")]
    begin = datetime(*[*parts, 1, 1][:3], tzinfo=UTC)  # type: ignore[misc,arg-type]
    days = {1: 366, 2: 31, 3: 1}[len(parts)]
    end = begin + timedelta(days=days)
    if len(parts) < 3:
        end = end.replace(day=1)
        end = datetime(parts[0] + 1, 1, 1, tzinfo=UTC) if len(parts) == 1 else end
    if not sign:
        return {">=": begin, "<": end}
    return {sign.replace(">=", ">").replace(">", ">="): begin}


def _within(key: str, bounds: Bounds, negated: bool) -> Rule:
    def rule(game: ListedGame) -> bool:
        value: Any = game.last_frame if key == "duration" else game.began
        if value is None:
            return True
        if key == "duration" and game.summary.place.name.startswith(("Home-Run Contest", "Target Test (")):
            return True
        compared = {"<": operator.lt, "<=": operator.le, ">=": operator.ge}
        return all(compared[sign](value, bound) for sign, bound in bounds.items()) is not negated

    return rule
