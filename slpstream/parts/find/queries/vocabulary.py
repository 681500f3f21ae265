"""The names of characters and stages that queries know. These are from all formats that have tables of names.

Names and aliases are compared as labels (see `slpstream.model.game_facts.label`). In each format, a value stands for
the name or alias that is equal to it or, if there is none, for all names that contain it. This is how the Slippi
Launcher does it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from slpstream.formats.name_tables import read_table
from slpstream.formats.registry import name_folders
from slpstream.model.game_facts import FORMAT, PLAYS, label, term
from slpstream.model.prepared import prepared
from slpstream.parts.find.queries.conditions import AllOf, Condition, Has, Not, any_of


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    table: str
    aliases: dict[str, str] = {}
    terms: str = "name"


class _Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    characters: _Table | None = None
    stages: _Table | None = None


@prepared
class _File(msgspec.Struct, frozen=True):
    formats: dict[str, _Tables]


class Names(NamedTuple):
    """The names of one kind of thing in one format."""

    terms: Mapping[str, str]
    """For each label, the label of the name in the summary of a game."""
    aliases: Mapping[str, str]
    """For the label of each alias, the label of the name."""
    shown: tuple[str, ...]
    """The names and aliases as people write them, for completion."""

    def find(self, text: str, *, exact: bool = False) -> set[str]:
        """Return the terms that a value stands for."""
        wanted = label(text)
        wanted = self.aliases.get(wanted, wanted)
        if wanted in self.terms:
            return {self.terms[wanted]}
        if exact or not wanted:
            return set()
        return {found for name, found in self.terms.items() if wanted in name}


class Vocabulary(NamedTuple):
    """The names of characters and of stages, by format."""

    characters: Mapping[str, Names]
    stages: Mapping[str, Names]


@functools.lru_cache(maxsize=128)  # a short text is part of many names, and a query can contain it many times
def condition_of(kind: str, text: str, role: str = "", *, exact: bool = False) -> Condition | None:
    """Return the condition that a game has the thing that a text names, or `None` if it doesn't name anything in any
    format.

    `kind` is either `PLAYS`, for a character of a player with this role, or `PLACE`, for a stage.
    """
    formats = vocabulary().characters if kind == PLAYS else vocabulary().stages
    found = {format_: names.find(text, exact=exact) for format_, names in formats.items()}
    known = {format_: set(names.terms.values()) for format_, names in formats.items()}
    parts: list[Condition] = []
    for each in sorted(set().union(*found.values())):
        # Formats share names. If a value means a name in one format only, the other format is excluded.
        others = [f for f in formats if each in known[f] and each not in found[f]]
        has = Has(term(kind, each, role))
        parts.append(AllOf((has, *(Not(Has(term(FORMAT, other))) for other in others))) if others else has)
    return any_of(parts) if parts else None


@functools.cache
def vocabulary() -> Vocabulary:
    """Return the names of all formats. Their tables are read when this is called for the first time."""
    content = msgspec.json.decode(Path(__file__).with_name("aliases.json").read_bytes(), type=_File)
    folders = name_folders()
    characters: dict[str, Names] = {}
    stages: dict[str, Names] = {}
    for format_, tables in content.formats.items():
        for table, names in ((tables.characters, characters), (tables.stages, stages)):
            if table is not None and format_ in folders:
                names[format_] = _names(folders[format_], table)
    return Vocabulary(characters, stages)


def _names(folder: Path, table: _Table) -> Names:
    rows = read_table(folder, table.table)["rows"]
    shown = [row["name"] for row in rows.values()]
    by_key = table.terms == "key"
    terms = {label(row["name"]): label(key if by_key else row["name"]) for key, row in rows.items()}
    aliases = {label(alias): label(name) for alias, name in table.aliases.items()}
    if by_key:
        aliases |= {label(key): label(row["name"]) for key, row in rows.items()}
    return Names(terms, aliases, tuple(dict.fromkeys((*shown, *table.aliases))))
