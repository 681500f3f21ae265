"""The result of an audit, in the form in which you get it from the HTTP interface and the command."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slpstream.model.prepared import prepared
from slpstream.model.setup import Kind

Mark = Literal["", "differs", "split"]


class _Shown(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Base class: on the wire, names are camelCase, and unknown values are left out."""


class AuditedValue(_Shown, frozen=True, kw_only=True):
    """One value of a setup, from its newest games."""

    name: Annotated[str, Meta(description="Name for programs: `ucf`, `timer`, `clock`.")]
    title: Annotated[str, Meta(description="Name for people.")]
    text: Annotated[str, Meta(description="The value in words.")]
    port: Annotated[int | None, Meta(description="The port that it belongs to, from 1.")] = None
    kind: Annotated[Kind, Meta(description="`machine` or `rules`.")] = "machine"
    game_id: Annotated[str, Meta(description="The game that shows it.")]
    mark: Annotated[
        Mark,
        Meta(description="`differs` from most setups; `split`: there is no majority. Left out for the usual value."),
    ] = ""


class AuditedSetup(_Shown, frozen=True, kw_only=True):
    """One setup."""

    setup: Annotated[str, Meta(description="Id of the station, or name of the folder.")]
    name: Annotated[str, Meta(description="Name of the station for people; left out if it is the id.")] = ""
    games: Annotated[int, Meta(description="Number of games that were looked at.")]
    values: list[AuditedValue] = []
    differences: Annotated[int, Meta(description="Number of values with a mark.")] = 0
    unknown: Annotated[
        str,
        Meta(
            description="Why it is compared with nothing: `no recent games`, `no readable replays` (of the command), "
            "`played online`; else left out."
        ),
    ] = ""


class Finding(_Shown, frozen=True, kw_only=True):
    """One difference between setups, or one change of a setup."""

    kind: Annotated[
        Literal["differs", "split", "changed"],
        Meta(
            description="`differs`: one setup is unlike most others. `split`: setups differ, and no value has a "
            "majority. `changed`: the games of one setup differ among themselves, which need not be wrong."
        ),
    ]
    setups: Annotated[list[str], Meta(description="The setup; of a `split` all that take part.")]
    name: str
    title: str
    port: int | None = None
    text: Annotated[str, Meta(description="The value of the setup, in words.")] = ""
    usual: Annotated[str, Meta(description="The value of most other setups, or the earlier value of a change.")] = ""
    game_id: Annotated[str, Meta(description="The newest game that shows it.")] = ""
    lasting: Annotated[
        bool, Meta(description="The setup has no other game that shows the value, or its two newest agree.")
    ] = True
    words: Annotated[str, Meta(description="The finding as a sentence.")]


@prepared
class Audit(_Shown, frozen=True, kw_only=True):
    """The comparison of all setups."""

    setups: list[AuditedSetup]
    findings: Annotated[list[Finding], Meta(description="Differences first, then what has changed.")]

    @property
    def differences(self) -> list[Finding]:
        """Return those findings that are about setups being different from each other."""
        return [finding for finding in self.findings if finding.kind != "changed"]
