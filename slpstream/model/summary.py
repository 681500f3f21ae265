"""A neutral summary of a game: its players, place, rules and result, in the same terms for every format.

Each format computes it from the payloads of `game_start`, `game_end` and `metadata` (`Format.describe`). It is the only
thing that the index, the outputs, the sets and the pages read about a game, and that's why they work with every format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

Ending = Literal["finished", "time", "quit"]
"""How a game ended: it was decided, the clock ran out, or a player quit."""


class _Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Base class: in JSON, names are camelCase and unknown values are left out."""


class Thing(_Summary, frozen=True):
    """Something that a game numbers or names: a stage, a course, a character, a machine."""

    kind: Annotated[str, Meta(description="The game's word for it: `stage`, `course`, `machine`.")] = ""
    id: Annotated[int | str | None, Meta(description="As in the settings.")] = None
    name: Annotated[str, Meta(description="Left out for an id without a known name.")] = ""

    @property
    def text(self) -> str:
        """The name if it is known, and otherwise the kind and id, such as `stage 99`. Empty if nothing is known."""
        return self.name or ("" if self.id is None else f"{self.kind} {self.id}".lstrip())


class PlayerSummary(_Summary, frozen=True):
    """One player. Values that the format does not have are left out."""

    index: Annotated[int, Meta(description="Player index.")]
    port: int | None = None
    name: Annotated[str, Meta(description="Display name, or the only name that the format has.")] = ""
    tag: Annotated[str, Meta(description="In-game name tag.")] = ""
    code: Annotated[str, Meta(description="Connect code.")] = ""
    character: Annotated[Thing, Meta(description="The character, machine or car of the player.")] = Thing()
    color: Annotated[int | None, Meta(description="Number of the costume or paint job.")] = None
    team: Annotated[int | None, Meta(description="Number of the team; meaningless unless `isTeams`.")] = None
    team_name: Annotated[str, Meta(description="The team in a word: `red`.")] = ""
    human: Annotated[bool, Meta(description="False when the computer plays.")] = True
    start_stocks: Annotated[int | None, Meta(description="Left out in modes without stocks.")] = None
    score: Annotated[
        int | None, Meta(description="Score at the end, in modes that are played for a score: KOs minus falls.")
    ] = None
    setup: Annotated[
        dict[str, Any],
        Meta(description="`character`, `color`, `team` and `human` exactly as in the settings."),
    ] = {}

    @property
    def shown_name(self) -> str:
        """The name if there is one, and otherwise the tag. Empty if the replay has neither of them."""
        return self.name or self.tag


class GameSummary(_Summary, frozen=True):
    """One game. The values that depend on its end are missing until then."""

    version: Annotated[str, Meta(description="Version of the game or of the format.")] = ""
    place: Annotated[Thing, Meta(description="Where it was played: a stage, a course, a track.")] = Thing()
    rules: Annotated[str, Meta(description="The rules in a few words: `Time Attack, 3 laps`.")] = ""
    mode: Annotated[
        str,
        Meta(
            description="`time`, `coin`, `bonus`, `stamina`, or `mode 4` for one without a name; empty for stock mode."
        ),
    ] = ""
    players: list[PlayerSummary] = []
    who: Annotated[
        str, Meta(description="Who played, in one line, where a line for each player would not say it well.")
    ] = ""
    is_teams: bool = False
    versus: Annotated[
        bool, Meta(description="Players play against each other for points, so games are grouped into sets.")
    ] = False
    match_id: Annotated[str, Meta(description="Id of the match when the game itself counts one (ranked).")] = ""
    sudden_death: Annotated[bool, Meta(description="The game is the sudden death that decides the game before it.")] = (
        False
    )
    started_at: Annotated[
        str,
        Meta(description="Beginning according to the file, ISO 8601; without a zone it is the console's clock."),
    ] = ""
    ending: Annotated[
        Ending | None,
        Meta(description="`finished`, `time` (the clock ran out) or `quit`; left out if the replay does not show it."),
    ] = None
    quitter: Annotated[int | None, Meta(description="Player index of the player who quit.")] = None
    winners: Annotated[list[int], Meta(description="Player indices.")] = []
    tied: Annotated[bool, Meta(description="Several sides came first, and a sudden death follows.")] = False
    basis: Annotated[
        Literal["", "inferred"],
        Meta(description="`inferred`: the replay has no end, and its last frame shows the winners; else left out."),
    ] = ""
    setup: Annotated[
        dict[str, Any], Meta(description="Place and rules exactly as in the settings: `stageId`, `laps`, ...")
    ] = {}


msgspec.json.Decoder(GameSummary)  # prepared for threads, see `model.prepared`; this module imports no other


class Standing(msgspec.Struct, frozen=True):
    """How many stocks and how much percent a player had at the end of a game.

    No message contains these values, and that's why they are not part of the summary.
    """

    stocks: int | None = None
    percent: float | None = None


msgspec.json.Decoder(Standing)


class IndexedGame(NamedTuple):
    """A game in the index, with the times from which you can tell when it was played."""

    game_id: str
    summary: GameSummary
    standings: Mapping[int, Standing]
    """By player index, or empty if unknown."""
    listed_at_ms: int
    """Sort key of the game in lists, Unix time."""
    arrived_at_ms: int | None = None
    """When the first bytes arrived, Unix time, or `None` for games that the daemon did not see arrive."""
    said_at_ms: int | None = None
    """When the game began according to its file, Unix time."""
    mtime_ns: int | None = None
    """Modification time of the file that has most of the game."""
    duration_seconds: float | None = None
    reason: str | None = None
    """As in `game_end`, or `None` while the game has no end."""


def given(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Pick the values with these names, in this order. Names that are missing or whose value is null are left out."""
    return {name: values[name] for name in names if values.get(name) is not None}


def stats_summary(stats: Any) -> bytes:
    """Return the part of a game's stats that the index keeps and that webhooks send, as JSON.

    It contains the scalar values and the totals of each player (`overall`), but none of the lists that have an entry
    for each move.
    """
    plain = msgspec.to_builtins(stats)
    if not isinstance(plain, dict):
        return b"{}"
    kept = {key: value for key, value in plain.items() if key == "overall" or not isinstance(value, (dict, list))}
    return msgspec.json.encode(kept)
