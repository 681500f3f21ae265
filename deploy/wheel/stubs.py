"""Writes the stubs that are made from tables: of the public names, of the columns, and of the payloads of messages.

Run `python deploy/wheel/stubs.py` after a change of a table; a test compares. The stubs are files of the source, so
that editors and type checkers find them.
"""

from __future__ import annotations

import keyword
import subprocess
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import UnsetType

import slpstream
from slpstream.formats.slippi import commands
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.stats.schema import Stats
from slpstream.model.fields import BOOL, F32, I8, I16, I32, U8, U16, U32, Field, Kind, Table, camel
from slpstream.model.summary import GameSummary
from slpstream.parts import registry
from slpstream.sets.scores import SetScore

PACKAGE = Path(__file__).parents[2] / "slpstream"
_MADE = "# Made by deploy/wheel/stubs.py.\n\n"
_COLUMNS = {
    "PreFrameColumns": (commands.PRE_FRAME, "CharacterColumns"),
    "PostFrameColumns": (commands.POST_FRAME, "CharacterColumns"),
    "FrameStartColumns": (commands.FRAME_START, "EventColumns"),
    "FrameBookendColumns": (commands.FRAME_BOOKEND, "EventColumns"),
    "ItemColumns": (commands.ITEM_UPDATE, "RepeatedEventColumns"),
}
_UPDATES = {
    "PreFrameUpdate": commands.PRE_FRAME,
    "PostFrameUpdate": commands.POST_FRAME,
    "FrameStart": commands.FRAME_START,
    "ItemUpdate": commands.ITEM_UPDATE,
}
_NUMPY = {U8: "uint8", I8: "int8", U16: "uint16", I16: "int16", U32: "uint32", I32: "int32", F32: "float32"}
_FRAME_ENTRY = '''
class PlayerFrame(TypedDict, total=False):
    """One character's part of a frame."""

    pre: PreFrameUpdate
    post: PostFrameUpdate

class FrameEntry(TypedDict):
    """The `frame` of a `frame` message. `players` and `followers` are by player index, which is a string in JSON."""

    frame: int
    revision: int
    start: NotRequired[FrameStart]
    players: NotRequired[dict[str, PlayerFrame]]
    followers: NotRequired[dict[str, PlayerFrame]]
    items: NotRequired[list[ItemUpdate]]
    stageEvents: NotRequired[list[dict[str, Any]]]
'''


class _Member(NamedTuple):
    name: str
    type: str
    doc: str = ""


def stubs() -> dict[Path, str]:
    """The text of each stub by its path."""
    texts = {
        PACKAGE / "__init__.pyi": _public_names(),
        PACKAGE / "formats/slippi/column_types.pyi": _column_types(),
        PACKAGE / "web/payload_types.pyi": _payload_types(),
    }
    return {path: _formatted(_MADE + text) for path, text in texts.items()}


def _formatted(text: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--line-length", "120", "--stdin-filename", "stub.pyi", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise ValueError(done.stderr)
    return done.stdout


def _public_names() -> str:
    lines = []
    for module, names in sorted(slpstream.PUBLIC.items()):
        lines += [f"from slpstream.{module} import {name} as {name}" for name in sorted(names)]
    return "\n".join([*lines, f"__all__ = {sorted(slpstream.__all__)}", "__version__: str"])


def _column_types() -> str:
    parts = [
        "import numpy as np",
        "import numpy.typing as npt\n",
        "from slpstream.formats.slippi.columns import EventColumns, RepeatedEventColumns",
    ]
    shared = _shared_members(commands.PRE_FRAME, commands.POST_FRAME)
    parts.append(
        _class("CharacterColumns", "EventColumns", "The fields that both updates of a character have.", shared)
    )
    for name, (table, base) in _COLUMNS.items():
        nested = _nested(table.fields)
        for group, fields in nested.items():
            members = [_Member(f.name.partition(".")[2], _array(f.kind), _doc(f)) for f in fields]
            parts.append(_class(_nested_name(table, group), "", f"The columns of `{group}`.", members))
        inherited = shared if base == "CharacterColumns" else []
        members = [member for member in _members(table, _array, str, _doc) if member not in inherited]
        parts.append(_class(name, base, table.doc, members))
    return "\n".join(parts)


def _shared_members(one: Table, other: Table) -> list[_Member]:
    others = [*_members(other, _array, str, _doc)]
    return [member for member in _members(one, _array, str, _doc) if member in others]


def _payload_types() -> str:
    parts = ["from typing import Any, Literal, NotRequired, TypedDict"]
    for name, table in _UPDATES.items():
        for group, fields in _nested(table.fields).items():
            members = [_Member(camel(f.name.partition(".")[2]), _plain(f.kind), _doc(f)) for f in fields]
            parts.append(_class(_nested_name(table, group), "TypedDict, total=False", f"`{group}`.", members))
        parts.append(_class(name, "TypedDict, total=False", table.doc, _members(table, _plain, camel, _doc)))
    parts.append(_FRAME_ENTRY)
    known: dict[type[Any], str] = {}
    for struct in (Settings, Stats, GameSummary, SetScore):
        _type_of(struct, known)
    messages: dict[str, str] = {}
    for message in registry.messages():
        name, doc = f"{message.type.title().replace('_', '')}Message", "Only with `also`."
        members = [_Member("type", f"Literal[{message.type!r}]"), _Member("station", "str")]
        if message.schema:
            struct = resolve_name(message.schema)
            members += _struct_members(struct, known)
            doc = f"{_summary(struct)} {doc}"
        messages[name] = _class(name, "TypedDict", doc, members)
    names = [*(struct.__name__ for struct in known), *messages]
    if len(names) > len(set(names)):
        raise ValueError(f"types of messages have the same name: {sorted(names)}")
    parts += [*known.values(), *messages.values(), f"PartMessage = {' | '.join(messages)}"]
    return "\n".join(parts)


def _members(table: Table, type_of: Any, name_of: Any, doc_of: Any) -> Iterator[_Member]:
    """The members of a table's class, with one for each nested object."""
    seen = set()
    for field in table.fields:
        group, dot, _ = field.name.partition(".")
        if not dot:
            yield _Member(name_of(field.name), type_of(field.kind), doc_of(field))
        elif group not in seen:
            seen.add(group)
            yield _Member(name_of(group), _nested_name(table, group), f"(since {field.since})")


def _nested(fields: Iterable[Field]) -> dict[str, list[Field]]:
    found: dict[str, list[Field]] = {}
    for field in fields:
        group, dot, _ = field.name.partition(".")
        if dot:
            found.setdefault(group, []).append(field)
    return found


def _nested_name(table: Table, group: str) -> str:
    return "".join(word.title() for word in group.split("_"))


def _array(kind: Kind) -> str:
    return f"npt.NDArray[np.{'bool_' if kind is BOOL else _NUMPY[kind]}]"


def _plain(kind: Kind) -> str:
    return "bool" if kind is BOOL else "float" if kind is F32 else "int"


def _doc(field: Field) -> str:
    return f"{field.doc} ({field.unit}{', ' if field.unit else ''}since {field.since})"


def _class(name: str, base: str, doc: str, members: Iterable[_Member]) -> str:
    lines = [f"class {name}({base}):" if base else f"class {name}:", f'    """{doc}"""\n']
    for member in members:
        lines.append(f"    {member.name}: {member.type}")
        if member.doc:
            lines.append(f'    """{member.doc}"""')
    return "\n".join(lines) + "\n"


def _type_of(annotation: Any, known: dict[type[Any], str]) -> str:
    """The type of a value in a message. Classes that it needs are added to `known`."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        if annotation not in known:
            _add_struct(annotation, known)
        return annotation.__name__
    origin, given = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, given))}]"
    if origin in (Union, types.UnionType):
        return " | ".join(_type_of(each, known) for each in given if each not in (UnsetType, type(None)))
    if origin is not None and origin.__name__ == "Annotated":
        return _type_of(given[0], known)
    if origin is tuple:
        return f"list[{_type_of(given[0], known)}]"
    if origin is not None:
        return f"{origin.__name__}[{', '.join(_type_of(each, known) for each in given)}]"
    return "Any" if annotation is Any else str(annotation.__name__)


def _struct_members(struct: type[Any], known: dict[type[Any], str]) -> list[_Member]:
    members = []
    for field in msgspec.structs.fields(struct):
        required = field.required and UnsetType not in get_args(field.type)
        kind = _type_of(field.type, known)
        about = [each.description for each in getattr(field.type, "__metadata__", ()) if each.description]
        doc = about[-1] if about else ""
        members.append(_Member(field.encode_name, kind if required else f"NotRequired[{kind}]", doc))
    return members


def _summary(struct: type[Any]) -> str:
    return (struct.__doc__ or "").partition("\n")[0]


def _add_struct(struct: type[Any], known: dict[type[Any], str]) -> None:
    members = _struct_members(struct, known)
    name = struct.__name__
    if any(keyword.iskeyword(member.name) for member in members):
        items = ", ".join(f"{member.name!r}: {member.type}" for member in members)
        known[struct] = f"{name} = TypedDict({name!r}, {{{items}}})"
    else:
        known[struct] = _class(name, "TypedDict", _summary(struct), members)


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
