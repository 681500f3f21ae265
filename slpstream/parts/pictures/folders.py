"""Find the pictures in the folders of other stream tools, and the names that they should get in an overlay folder.

Melee Stream Tool (commit bcaadfa) has `Portraits/{Character}/{Skin}.png` and `Stock Icons/{Character}/{Skin}.png` in
`Resources/Characters`. Sheik's skins are in Zelda's folder. TournamentStreamHelper 5 has `user_data/games/ssbm`. There,
you find the names of all characters in `base_files/config.json`. Each folder with pictures also contains a
`config.json`, and the pictures are named `{prefix}{codename}{postfix}{costume}`. The costume index is the same as in
the replay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from slpstream.formats.slippi.names import characters
from slpstream.formats.slippi.stream_tool_names import characters as scoreboard_characters
from slpstream.formats.slippi.stream_tool_names import stream_tool_names
from slpstream.model.foreign_data import read_json
from slpstream.model.prepared import prepared
from slpstream.system.files import read_regular

T = TypeVar("T")

MELEE_STREAM_TOOL: Final = "melee-stream-tool"
TOURNAMENT_STREAM_HELPER: Final = "tournament-stream-helper"
TOOLS: Final = (MELEE_STREAM_TOOL, TOURNAMENT_STREAM_HELPER)
SUFFIXES: Final = (".png", ".svg", ".webp")
_MST_PLACES = ("", "Resources", "Stream Tool/Resources")
_MST_KINDS = {"icons": "Stock Icons", "portraits": "Portraits"}
_TSH_PLACES = ("", "ssbm", "games/ssbm", "user_data/games/ssbm")
_TSH_KINDS = {
    "icons": ("icon_hd", "icon", "stock_icon"),
    "portraits": ("full", "portrait_hd", "portrait"),
    "stages": ("stage_icon",),
}
"""Types of packs in `config.json`; the first ones are preferred."""
_TSH_STAGES: Mapping[str, int] = {
    "fountain_of_dreams": 2,
    "pokemon_stadium": 3,
    "peachs_castle": 4,
    "kongo_jungle": 5,
    "brinstar": 6,
    "corneria": 7,
    "yoshis_story": 8,
    "onett": 9,
    "mute_city": 10,
    "rainbow_cruise": 11,
    "jungle_japes": 12,
    "great_bay": 13,
    "temple": 14,
    "brinstar_depths": 15,
    "yoshis_island": 16,
    "green_greens": 17,
    "fourside": 18,
    "mushroom_kingdom": 19,
    "mushroom_kingdom_ii": 20,
    "venom": 22,
    "pokefloats": 23,
    "big_blue": 24,
    "icicle_mountain": 25,
    "flat_zone": 27,
    "dream_land": 28,
    "yoshis_island_64": 29,
    "kong_jungle_64": 30,
    "battlefield": 31,
    "final_destination": 32,
}
"""Stage ids by the codenames of TournamentStreamHelper."""


class Picture(NamedTuple):
    """A picture of a tool, and the path that it gets below an overlay folder, for example `icons/2/0.png`."""

    source: Path
    target: str


class _Codename(msgspec.Struct):
    codename: str


@prepared
class _Game(msgspec.Struct):
    """Those parts of `base_files/config.json` that we use."""

    character_to_codename: dict[str, _Codename]


@prepared
class _Pack(msgspec.Struct):
    """Those parts of the `config.json` in a folder of pictures that we use."""

    type: list[str] = []
    prefix: str = ""
    postfix: str = ""


def tool_of(folder: Path) -> str | None:
    """Return the tool to which a folder belongs, or `None` if it doesn't belong to any."""
    if _mst_resources(folder) is not None:
        return MELEE_STREAM_TOOL
    return None if _tsh_game(folder) is None else TOURNAMENT_STREAM_HELPER


def pictures(folder: Path, tool: str) -> list[Picture]:
    """Return the pictures of Melee in the folder of the given tool, in the order of their targets. If it's the folder
    of another tool, there are none.

    Raises `OSError` if a folder or list can't be read, and `msgspec.DecodeError` if a list is damaged.
    """
    found = _of_mst(folder) if tool == MELEE_STREAM_TOOL else _of_tsh(folder)
    return sorted(found, key=lambda picture: picture.target)


def _mst_resources(folder: Path) -> Path | None:
    places = [folder / place / "Characters" for place in _MST_PLACES]
    return next((place for place in places if any((place / kind).is_dir() for kind in _MST_KINDS.values())), None)


def _of_mst(folder: Path) -> Iterator[Picture]:
    resources = _mst_resources(folder)
    if resources is None:
        return
    for kind, below in _MST_KINDS.items():
        for character_id, character in scoreboard_characters().items():
            for costume in range(len(character.skins)):
                names = stream_tool_names(character_id, costume)
                source = None if names is None else resources / below / names[0] / f"{names[1]}.png"
                if source is not None and source.is_file():
                    yield Picture(source, f"{kind}/{character_id}/{costume}.png")


def _tsh_game(folder: Path) -> Path | None:
    places = [folder / place for place in _TSH_PLACES]
    return next((place for place in places if (place / "base_files/config.json").is_file()), None)


def _of_tsh(folder: Path) -> Iterator[Picture]:
    root = _tsh_game(folder)
    if root is None:
        return
    ids = {character.name: id for id, character in characters().items()}
    game = _read(root / "base_files/config.json", _Game)
    codenames = {each.codename: ids[name] for name, each in game.character_to_codename.items() if name in ids}
    packs = [
        (config.parent, _read(config, _Pack))
        for config in [*sorted(root.glob("base_files/*/config.json")), *sorted(root.glob("*/config.json"))]
        if config.parent.name != "base_files"
    ]
    for kind, types in _TSH_KINDS.items():
        # Pictures of different packs do not match: use only the pack of the preferred type with the most pictures.
        for wanted in types:
            candidates = [_of_pack(kind, path, pack, codenames) for path, pack in packs if wanted in pack.type]
            chosen = max(candidates, key=len, default={})
            if chosen:
                yield from (Picture(source, target) for target, source in chosen.items())
                break


def _read(file: Path, kind: type[T]) -> T:
    """Return the content of a JSON file.

    Raises `OSError` if it can't be read, and a `ValueError` with its name if it is damaged.
    """
    return read_json(read_regular(file), kind, lambda what: ValueError(f"{file}: {what}"))


def _of_pack(kind: str, folder: Path, pack: _Pack, codenames: Mapping[str, int]) -> dict[str, Path]:
    """Return the pictures of the given pack by target. There is one for each costume or stage."""
    found: dict[str, Path] = {}
    known = _TSH_STAGES if kind == "stages" else codenames
    number = "" if kind == "stages" else "0*([0-9]{1,2})"
    names = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
    pattern = re.compile(f"{re.escape(pack.prefix)}({names}){re.escape(pack.postfix)}{number}")
    done = set[str]()
    for path in sorted(folder.iterdir()):
        match = pattern.fullmatch(path.stem)
        if match is None or path.suffix.lower() not in SUFFIXES or not path.is_file():
            continue
        place = "/".join([kind, str(known[match[1]]), *(str(int(costume)) for costume in match.groups()[1:])])
        if place not in done:
            done.add(place)
            found[place + path.suffix.lower()] = path
    return found
