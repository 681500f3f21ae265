"""A brute-force search for situations, written from `docs/data/situations.md` alone and as simply as possible.

It shares no code with `slpstream.search`: it splits queries by itself, looks at decoded frames one condition at a
time, and tries all combinations of frames. It takes valid queries only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from tests.project import ROOT

NAMES = ROOT / "slpstream" / "formats" / "slippi" / "names"
_TABLES = json.loads((NAMES / "action_states.json").read_text(encoding="utf-8"))["tables"]
_STAGES = json.loads((NAMES / "stages.json").read_text(encoding="utf-8"))["rows"]

# The tables of the page, `*` for the three dots.
MOVES: dict[str, tuple[Sequence[int], str]] = {
    "jab": ((2, 3, 4, 5), "Attack11 Attack12 Attack13 Attack100*"),
    "dashattack": ((6,), "AttackDash"),
    "ftilt": ((7,), "AttackS3*"),
    "utilt": ((8,), "AttackHi3"),
    "dtilt": ((9,), "AttackLw3"),
    "fsmash": ((10,), "AttackS4*"),
    "usmash": ((11,), "AttackHi4"),
    "dsmash": ((12,), "AttackLw4"),
    "nair": ((13,), "AttackAirN FloatAttackAirN"),
    "fair": ((14,), "AttackAirF FloatAttackAirF"),
    "bair": ((15,), "AttackAirB FloatAttackAirB"),
    "uair": ((16,), "AttackAirHi FloatAttackAirHi"),
    "dair": ((17,), "AttackAirLw FloatAttackAirLw"),
    "neutralb": ((18, *range(22, 48)), "SpecialN* SpecialAirN*"),
    "laser": ((18,), "SpecialN* SpecialAirN*"),
    "sideb": ((19,), "SpecialS* SpecialAirS*"),
    "upb": ((20,), "SpecialHi* SpecialAirHi*"),
    "downb": ((21,), "SpecialLw* SpecialAirLw*"),
    "shine": ((21,), "SpecialLw* SpecialAirLw*"),
    "rest": ((21,), "SpecialLw* SpecialAirLw*"),
    "fthrow": ((53,), "ThrowF"),
    "bthrow": ((54,), "ThrowB"),
    "uthrow": ((55,), "ThrowHi"),
    "dthrow": ((56,), "ThrowLw"),
    "pummel": ((52,), "CatchAttack"),
    "getupattack": ((50, 51), "DownAttackU DownAttackD"),
    "ledgeattack": ((61, 62), "CliffAttackSlow CliffAttackQuick"),
    "grab": ((), "Catch CatchDash"),
    "tilt": ((7, 8, 9), "AttackS3* AttackHi3 AttackLw3"),
    "smash": ((10, 11, 12), "AttackS4* AttackHi4 AttackLw4"),
    "aerial": (
        (13, 14, 15, 16, 17),
        "AttackAirN AttackAirF AttackAirB AttackAirHi AttackAirLw "
        + " ".join(f"FloatAttackAir{way}" for way in ("N", "F", "B", "Hi", "Lw")),
    ),
    "special": (
        range(18, 48),
        "SpecialN* SpecialAirN* SpecialS* SpecialAirS* SpecialHi* SpecialAirHi* SpecialLw* SpecialAirLw*",
    ),
    "throw": (range(53, 61), "ThrowF ThrowB ThrowHi ThrowLw"),
}
LONG_NAMES = {
    f"{long}{what}": f"{short}{what}"
    for what, letters in {"air": "nfbud", "tilt": "fud", "smash": "fud", "throw": "fbud"}.items()
    for short, long in {"n": "neutral", "f": "forward", "b": "back", "u": "up", "d": "down"}.items()
    if short in letters
}
STATES = {
    "hitstun": "DamageHi1 DamageHi2 DamageHi3 DamageN1 DamageN2 DamageN3 DamageLw1 DamageLw2 DamageLw3"
    " DamageAir1 DamageAir2 DamageAir3 DamageFly*",
    "tumble": "DamageFall",
    "grabbed": "CapturePulledHi CaptureWaitHi CaptureDamageHi CapturePulledLw CaptureWaitLw CaptureDamageLw"
    " CaptureNeck CaptureFoot",
    "thrown": "ThrownF ThrownB ThrownHi ThrownLw ThrownLwWomen ThrownFF ThrownFB ThrownFHi ThrownFLw",
    "shield": "GuardOn Guard GuardSetOff GuardReflect",
    "shieldstun": "GuardSetOff",
    "shieldbreak": "ShieldBreak* FuraFura",
    "tech": "Passive PassiveStandF PassiveStandB PassiveWall PassiveWallJump PassiveCeil",
    "missedtech": "DownBoundU DownBoundD",
    "down": "DownBoundU DownWaitU DownDamageU DownBoundD DownWaitD DownDamageD",
    "getup": "DownStandU DownAttackU DownFowardU DownBackU DownSpotU DownStandD DownAttackD DownFowardD DownBackD"
    " DownSpotD",
    "ledge": "Cliff*",
    "ledgegrab": "CliffCatch",
    "ledgehang": "CliffCatch CliffWait",
    "roll": "EscapeF EscapeB",
    "spotdodge": "Escape",
    "airdodge": "EscapeAir",
    "dead": "Dead*",
    "respawn": "Rebirth RebirthWait",
    "landing": "Landing*",
    "aeriallanding": "LandingAir*",
    "speciallanding": "LandingFallSpecial",
    "idle": "Wait",
    "walk": "WalkSlow WalkMiddle WalkFast",
    "turn": "Turn TurnRun",
    "dash": "Dash",
    "run": "Run RunDirect",
    "crouch": "Squat SquatWait SquatRv",
    "jumpsquat": "KneeBend",
    "jump": "JumpF JumpB JumpAerialF JumpAerialB",
    "doublejump": "JumpAerialF JumpAerialB",
    "fall": "Fall FallF FallB FallAerial FallAerialF FallAerialB",
    "helpless": "FallSpecial FallSpecialF FallSpecialB",
    "attacking": "Attack*",
    "grabbing": "Catch*",
    "throwing": "ThrowF ThrowB ThrowHi ThrowLw",
    "taunt": "Appeal*",
    "teeter": "Ottotto OttottoWait",
    "platformdrop": "Pass",
    "walljump": "PassiveWallJump",
    "asleep": "DamageSong*",
    "frozen": "DamageIce*",
    "buried": "Bury*",
}
PLACES = ("ground", "air", "offstage", "onstage", "platform")
MEASURES = ("percent", "stocks", "x", "y", "frame", "time")
_BEING_HIT = {
    0x26,
    *range(0x4B, 0x5C),
    0xB9,
    0xC1,
    *range(0xDF, 0xE9),
    *range(0x10A, 0x125),
    *range(0x126, 0x131),
    *range(0x147, 0x153),
}
CHARACTERS = {
    key: int(id)
    for id, row in json.loads((NAMES / "characters.json").read_text(encoding="utf-8"))["rows"].items()
    for key in (row["name"], row["short_name"])
}


class Found(NamedTuple):
    """A situation: player index, opponent index, the frame number of each step, and that in which it is known."""

    player: int
    opponent: int
    frames: tuple[int, ...]
    known: int


class Step(NamedTuple):
    """The conditions of a step, each a list of words, and its `for:` and `within:` in frames."""

    parts: list[list[str]]
    held: int
    within: float


_names_of_states: dict[int, dict[int, str]] = {}
_in_states: dict[tuple[str, int, int], bool] = {}


def name_of(fighter: int, state: int) -> str:
    """The game's name of a fighter's action state."""
    if fighter not in _names_of_states:
        names: dict[int, str] = {}
        for title, table in _TABLES.items():
            if title == "common" or fighter in table.get("fighters", ()):
                for first, block in table["blocks"].items():
                    names |= {int(first, 16) + i: name for i, name in enumerate(block)}
        _names_of_states[fighter] = names
    return _names_of_states[fighter].get(state, "")


def is_in(post: Any, states: str) -> bool:
    """Whether the state of a player is one of these, separated by spaces."""
    key = states, post.internal_character_id, post.action_state_id
    if key not in _in_states:
        name = name_of(*key[1:])
        _in_states[key] = bool(name) and any(
            name.startswith(each[:-1]) and len(name) >= len(each) - 1 if each.endswith("*") else name == each
            for each in states.split()
        )
    return _in_states[key]


class Search:
    """The final frames of one game, as seen by one player and one opponent."""

    def __init__(self, settings: Any, frames: Sequence[Any], player: int, opponent: int) -> None:
        self.settings = settings
        self.frames = frames
        self.player, self.opponent = player, opponent
        stage = _STAGES.get(str(settings.stage_id), {})
        self.edge = stage.get("outline", {}).get("edge")
        self.known: dict[tuple[str, int, int], list[bool | None]] = {}
        """Whether each word holds in each row, for each pair of players; `None` if not computed yet."""
        self.known_after: dict[tuple[tuple[int, int], ...], list[int]] = {}
        self.posts = [
            {who: player.post for who, player in frame.entry.players.items() if player.post is not UNSET}
            for frame in frames
        ]

    def post(self, row: int, who: int) -> Any:
        """A player's Post-Frame Update; `None` if the player is not in the frame, or there is no such frame."""
        return None if row < 0 else self.posts[row].get(who)

    def both(self, row: int) -> bool:
        return self.post(row, self.player) is not None and self.post(row, self.opponent) is not None

    def hits(self, row: int, by: int, on: int) -> bool:
        if not self.both(row) or not self.both(row - 1):
            return False
        post = self.post(row, on)
        damage = post.percent - self.post(row - 1, on).percent
        if damage <= 0:
            return False
        if len(self.settings.players) > 2 and post.last_hit_by != by:
            return False
        if post.action_state_id not in _BEING_HIT:
            return not (abs(damage - 1) < 0.0001 or post.internal_character_id in (23, 24, 26))
        return True

    def decided(self, row: int, by: int, on: int) -> tuple[int, bool]:
        """The row in which the kill of a hit is decided, and whether it kills."""
        begin = self.frames[row].number
        if self.post(row, on).last_hit_by != by:
            return row, False
        for later in range(row + 1, len(self.frames)):
            if not self.both(later) or self.hits(later, by, on) or self.frames[later].number > begin + 600:
                return later, False
            if is_in(self.post(later, on), "Dead*") and not is_in(self.post(later - 1, on), "Dead*"):
                return later, True
            if self.post(later, on).last_hit_by != by:
                return later, False
        return len(self.frames) - 1, False

    def kills(self, row: int, by: int, on: int) -> bool:
        return self.hits(row, by, on) and self.decided(row, by, on)[1]

    def known_rows(self, *asks_for: tuple[int, int]) -> list[int]:
        """For each row, the row in which the kills of the hits up to it are decided."""
        if asks_for not in self.known_after:
            found: list[int] = []
            for row in range(len(self.frames)):
                rows = [self.decided(row, by, on)[0] for by, on in asks_for if self.hits(row, by, on)]
                found.append(max([row, *rows, *found[-1:]]))
            self.known_after[asks_for] = found
        return self.known_after[asks_for]

    def term(self, word: str, row: int, own: int, other: int) -> bool:
        key = word, own, other
        rows = self.known.get(key)
        if rows is None:
            rows = self.known[key] = [None] * len(self.frames)
        value = rows[row]
        if value is None:
            value = rows[row] = self._term(word, row, own, other)
        return value

    def _term(self, word: str, row: int, own: int, other: int) -> bool:
        post = self.post(row, own)
        if ":" in word:
            name, value = word.split(":", 1)
            if name == "starts":
                return self._starts(MOVES[LONG_NAMES.get(value, value)][1], row, own)
            if name == "state":
                if value.startswith("0x"):
                    return bool(post.action_state_id == int(value, 16))
                return name_of(post.internal_character_id, post.action_state_id).lower() == value
            return within(value, self._measure(name, row, post))
        word = LONG_NAMES.get(word, word)
        if word == "hit":
            return self.hits(row, own, other)
        if word == "kill":
            return self.kills(row, own, other)
        if word == "grab":
            grabbed = STATES["grabbed"]
            return (
                self.both(row - 1)
                and is_in(self.post(row, other), grabbed)
                and not is_in(self.post(row - 1, other), grabbed)
                and is_in(post, STATES["grabbing"])
            )
        if word in MOVES:
            return self.hits(row, own, other) and post.last_attack_landed in MOVES[word][0]
        if word in STATES:
            return is_in(post, STATES[word])
        return self._place(word, post)

    def _starts(self, states: str, row: int, own: int) -> bool:
        if not self.both(row - 1):
            return False
        post, before = self.post(row, own), self.post(row - 1, own)
        if not is_in(post, states):
            return False
        if not is_in(before, states):
            return True
        if post.action_state_counter is UNSET or post.action_state_id != before.action_state_id:
            return False
        return bool(post.action_state_counter < before.action_state_counter)

    def _place(self, word: str, post: Any) -> bool:
        if word == "ground":
            return bool(post.is_airborne is False)
        if word == "air":
            return bool(post.is_airborne is True)
        if self.edge is None:
            return False
        if word == "platform":
            return bool(post.is_airborne is False and post.position_y > 5)
        if word == "onstage":
            return bool(abs(post.position_x) <= self.edge and post.position_y >= -10)
        assert word == "offstage"
        away = abs(post.position_x) > self.edge or post.position_y < -10
        return bool(post.is_airborne is True and away and not is_in(post, "Dead*") and not is_in(post, "Cliff*"))

    def _measure(self, name: str, row: int, post: Any) -> float:
        number = self.frames[row].number
        values = {
            "percent": post.percent,
            "stocks": post.stocks_remaining,
            "x": post.position_x,
            "y": post.position_y,
            "frame": number,
            "time": number / 60,
        }
        return float(values[name])

    def holds(self, words: list[str], row: int) -> bool:
        """Whether a condition holds in a frame, given as a list of words that is read from the left."""
        rest = list(words)
        value = self._alternatives(rest, row)
        assert not rest
        return value

    def _alternatives(self, rest: list[str], row: int) -> bool:
        value = self._factor(rest, row)
        while rest and rest[0] == "|":
            rest.pop(0)
            value = self._factor(rest, row) or value
        return value

    def _factor(self, rest: list[str], row: int) -> bool:
        word = rest.pop(0)
        if word == "!":
            return not self._factor(rest, row)
        if word == "(":
            value = self._alternatives(rest, row)
            while rest.pop(0) == ",":
                value = self._alternatives(rest, row) and value
            return value
        subject, own, other = "", self.player, self.opponent
        for prefix in ("own.", "opponent."):
            if word.startswith(prefix):
                subject, word = prefix, word.removeprefix(prefix)
        if subject == "opponent." or (not subject and word.startswith("percent:")):
            own, other = other, own
        return self.term(word, row, own, other)

    def happens(self, step: Step) -> list[int]:
        """The rows in which a step happens."""
        found, held = [], 0
        for row in range(len(self.frames)):
            held = held + 1 if self.both(row) and all(self.holds(part, row) for part in step.parts) else 0
            if held == step.held:
                found.append(row)
        return found

    def find(self, steps: list[Step]) -> Iterator[Found]:
        rows = [self.happens(step) for step in steps]
        numbers = [frame.number for frame in self.frames]
        words = [word for step in steps for part in step.parts for word in part]
        asks_for = [(self.player, self.opponent)] if {"kill", "own.kill"} & {*words} else []
        asks_for += [(self.opponent, self.player)] if "opponent.kill" in words else []
        known = self.known_rows(*asks_for)
        first = 0
        for last in rows[-1]:
            for chosen in combinations(steps, rows, last, first, numbers):
                frames = tuple(numbers[row] for row in chosen)
                yield Found(self.player, self.opponent, frames, numbers[known[last]])
                first = last
                break


def combinations(
    steps: list[Step], rows: list[list[int]], last: int, first: int, numbers: list[int]
) -> Iterator[tuple[int, ...]]:
    """The choices of a row for each step, from `first` on and the last step in `last`, the latest ones first."""
    if len(steps) == 1:
        if last >= first:
            yield (last,)
        return
    for before in reversed(rows[len(steps) - 2]):
        if before < first or numbers[last] - numbers[before] > steps[-1].within:
            if before < last:
                return
            continue
        if before < last:
            for chosen in combinations(steps[:-1], rows, before, first, numbers):
                yield (*chosen, last)


def within(bound: str, value: float) -> bool:
    """Whether a value is within a bound, such as `<110` or `50..90`."""
    if ".." in bound:
        low, high = map(float, bound.split(".."))
        return low <= value <= high
    match = re.fullmatch(r"(<=|>=|<|>|)(.+)", bound)
    assert match is not None
    limit = float(match[2])
    compare: dict[str, Callable[[float], bool]] = {
        "<": lambda x: x < limit,
        "<=": lambda x: x <= limit,
        ">": lambda x: x > limit,
        ">=": lambda x: x >= limit,
        "": lambda x: x == limit,
    }
    return compare[match[1]](value)


def split(text: str) -> list[str]:
    """The words of a text, in lower case and without hyphens; a key and its value are one word."""
    text = re.sub(r"\s*:\s*(<=|>=|<|>)?\s*", r":\1", text.lower())
    found = re.findall(r'"[^"]*"|->|[(),|!]|[^\s(),|!"]+', re.sub(r"->", " -> ", text))
    return [word if word == "->" or ":" in word or '"' in word else word.replace("-", "") for word in found]


def step_of(words: list[str], *, first: bool) -> Step:
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word if ":" not in word else _without_hyphens(word))
    held, limit = 1, 300.0
    for part in [part for part in parts if part[0].startswith(("for:", "within:"))]:
        parts.remove(part)
        name, value = part[0].split(":")
        frames = float("inf") if value == "any" else round(float(value[:-1]) * (60 if value.endswith("s") else 1), 6)
        if name == "for":
            held = round(frames)
        else:
            assert not first
            limit = frames
    return Step(parts, held, limit)


def _without_hyphens(word: str) -> str:
    name, value = word.split(":", 1)
    return f"{name}:{value.replace('-', '')}" if name in ("starts", "state") else word


def is_named(player: Any, names: str) -> bool:
    """Whether a player has one of the names before the colon."""
    return any(
        all(_fits(player, word) for word in re.findall(r'"[^"]*"|\S+', each)) for each in names.lower().split("|")
    )


def _fits(player: Any, word: str) -> bool:
    if word == "any":
        return True
    if word.startswith('"'):
        return word[1:-1] in (player.display_name.lower(), player.nametag.lower(), player.connect_code.lower())
    if "#" in word:
        return bool(player.connect_code.lower() == word)
    port = re.fullmatch(r"(?:port|p)([1-4])", word)
    if port is not None:
        return bool(player.port == int(port[1]))
    plain = {re.sub(r"[^\w&]", "", name.lower()): id for name, id in CHARACTERS.items()}
    return bool(player.character_id == plain[word.replace("-", "")])


class Reference:
    """One game, to be searched with several queries."""

    def __init__(self, settings: Any, frames: Sequence[Any]) -> None:
        """`frames` are the final ones, in order and each number once."""
        self._settings = settings
        self._searches = {
            (player.player_index, other.player_index): Search(settings, frames, player.player_index, other.player_index)
            for player in settings.players
            for other in settings.players
            if player is not other
        }

    def situations(self, query: str) -> list[Found]:
        """The situations of a query."""
        names, steps = _names_and_steps(query)
        found: list[Found] = []
        for player in self._settings.players:
            for other in self._settings.players:
                teams = self._settings.is_teams and len(self._settings.players) > 2
                if player is other or (teams and player.team_id == other.team_id):
                    continue
                if is_named(player, names[0]) and is_named(other, names[1]):
                    found += self._searches[player.player_index, other.player_index].find(steps)
        return sorted(found, key=lambda each: (each.known, each.frames[-1], each.player, each.opponent))


def _names_and_steps(query: str) -> tuple[list[str], list[Step]]:
    """The names of the player and of the opponent, and the steps of a query."""
    names, rest = ["any", "any"], query
    match = re.match(r'\s*((?:"[^"]*"|[^:",!()<>.])+?)\s*:', query)
    if match is not None and re.split(r"[\s|]+", match[1].lower())[-1] not in (
        *MEASURES,
        "starts",
        "state",
        "for",
        "within",
    ):
        names = [*re.split(r"\s+vs\s+", match[1]), "any"][:2]
        rest = query[match.end() :]
    words = split(rest)
    steps: list[Step] = []
    while words:
        end = words.index("->") if "->" in words else len(words)
        steps.append(step_of(words[:end], first=not steps))
        words = words[end + 1 :]
    return names, steps
