"""The setup of machine and rules that a game reveals, described in the same terms for every format.

Each format describes the setup by named values (`Format.setup`), so you can compare two setups without knowing anything
about the formats. The codes that were loaded into the game are a separate value, because only the file contains them,
and the settings don't.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slpstream.model.prepared import prepared

Kind = Literal["machine", "rules"]


class _Revealed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Base class: in JSON, names are camelCase and unknown values are left out."""


class SetupValue(_Revealed, frozen=True, kw_only=True):
    """One property of a setup. Setups with the same `value` are equal in this property."""

    name: Annotated[str, Meta(description="Name for programs: `ucf`, `timer`.")]
    title: Annotated[str, Meta(description="Name for people: `UCF`, `timer`.")]
    value: Annotated[str, Meta(description="The value, for comparisons.")]
    text: Annotated[str, Meta(description="The value in words: `off`, `8:00`.")]
    port: Annotated[int | None, Meta(description="The port that it belongs to, from 1; left out for the setup.")] = None
    kind: Annotated[
        Kind,
        Meta(description="`machine`: settings of the console; `rules`: chosen in the menus, possibly for one game."),
    ] = "machine"


class RevealedSetup(_Revealed, frozen=True, kw_only=True):
    """The properties of the setup that a game reveals."""

    values: list[SetupValue] = []
    incomparable: Annotated[
        str, Meta(description="Why the game reveals no comparable setup: `played online`; else left out.")
    ] = ""


class Code(_Revealed, frozen=True, kw_only=True):
    """One code that was loaded into the game."""

    type: Annotated[str, Meta(description="The kind of code, two hex digits: `C2` inserts, `04` writes 32 bits.")]
    address: Annotated[str, Meta(description="The place in memory that it changes, eight hex digits.")]
    bytes: Annotated[int, Meta(description="Length of the code.")]


class CodeSet(_Revealed, frozen=True, kw_only=True):
    """A known set of codes, all of which are loaded."""

    name: Annotated[str, Meta(description="Name for people: `UCF 0.84`.")]
    family: Annotated[str, Meta(description="Sets of one family exclude or extend each other: `ucf`.")]


class CodeList(_Revealed, frozen=True, kw_only=True):
    """The codes that were loaded into the game, in order."""

    fingerprint: Annotated[
        str, Meta(description="Hash over type, address and length of each code: equal for games of one build.")
    ]
    count: Annotated[int, Meta(description="Number of codes.")]
    sets: Annotated[list[CodeSet], Meta(description="The known sets among them.")] = []
    codes: list[Code] = []


@prepared
class Pacing(_Revealed, frozen=True, kw_only=True):
    """How evenly the frames of a game arrived at the daemon that received them."""

    frames_per_second: Annotated[float, Meta(description="Without the pauses.")]
    stutters: Annotated[int, Meta(description="How often frames came at least 50 ms later than they should have.")]
    late_milliseconds: Annotated[
        int, Meta(description="99 of 100 arrivals were at most this much later than the length of their frames.")
    ]
    seconds: Annotated[float, Meta(description="Length of the measured time.")]


for _kind in (CodeList, Pacing, RevealedSetup):
    msgspec.json.Decoder(_kind)  # prepared for threads, see `model.prepared`
