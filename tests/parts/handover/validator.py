"""Checks the zip of a set by the rules of the programs that read it, from their sources.

auto-slp-player refuses a zip with any other file, plays the replays in the plain order of their names, and ignores a
document that breaks one of its rules. replay-manager-for-slippi puts the document first. Neither program is run here.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from slpstream.api import read_game
from slpstream.formats.slippi import container

_LISTS = ("displayNames", "ports", "prefixes", "pronouns")
STARTGG = (
    ("tournament", "name"), ("event", "name"), ("event", "slug"), ("phase", "id"), ("phase", "name"),
    ("phaseGroup", "id"), ("phaseGroup", "name"), ("phaseGroup", "bracketType"), ("set", "fullRoundText"),
    ("set", "round"),
)  # fmt: skip


def problems(source: Path | BinaryIO) -> list[str]:
    """Why a program would refuse a zip, or ignore its document; empty if none would."""
    with zipfile.ZipFile(source) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        found = [f"{name} is neither a replay nor the document" for name in names if not _is_known(name)]
        replays = [name for name in names if name.endswith(".slp")]
        if sorted(replays) != replays:
            found.append("the replays do not play in the order of the games")
        for name in replays:
            head = archive.read(name)[: container.HEADER_BYTES]
            if not container.is_finished(head):
                found.append(f"{name} has no raw length")
        if "context.json" not in names:
            return [*found, "no document"]
        if names[0] != "context.json":
            found.append("the document is not the first member")
        return found + _problems_of(json.loads(archive.read("context.json")), len(replays))


def document(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The document in a zip."""
    found: dict[str, Any] = json.loads(archive.read("context.json"))
    return found


def copied(archive: zipfile.ZipFile, name: str, folder: Path) -> Any:
    """A replay of a zip, read from a copy in a folder."""
    path = folder / "copied.slp"
    path.write_bytes(archive.read(name))
    return read_game(path)


def _is_known(name: str) -> bool:
    return name == "context.json" or (name.endswith(".slp") and "/" not in name and "\\" not in name)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _problems_of(document: Mapping[str, Any], replays: int) -> list[str]:
    found = [f"{key} is no whole number" for key in ("bestOf", "durationMs", "startMs") if not _is_whole(document[key])]
    if len(document["scores"]) != replays or not replays:
        found.append(f"{len(document['scores'])} scores for {replays} replays")
    for score in (*document["scores"], document["finalScore"]):
        if len(score["slots"]) != 2:
            found.append("a score without two slots")
        for slot in score["slots"]:
            if len({len(slot[name]) for name in _LISTS}) != 1 or not slot["ports"]:
                found.append(f"lists of different lengths, or empty ones: {slot}")
            if not all(slot["displayNames"]) or not all(_is_whole(port) and 1 <= port <= 4 for port in slot["ports"]):
                found.append(f"an empty name or a port that does not exist: {slot}")
            if not _is_whole(slot["score"]) or slot["score"] < 0:
                found.append(f"no score: {slot}")
    entrants = [player for side in document["players"].values() for player in side]
    if set(document["players"]) != {"entrant1", "entrant2"} or not all(p["name"] and p["characters"] for p in entrants):
        found.append("players without names or characters")
    known = document.get("startgg")
    if known is not None:
        found += [f"startgg lacks {part}.{key}" for part, key in STARTGG if known.get(part, {}).get(key) in (None, "")]
        channel = known.get("set", {}).get("stream")
        if channel is not None and (
            set(channel) != {"id", "domain", "path"} or channel["domain"].lower() != channel["domain"]
        ):
            found.append(f"a channel of another form: {channel}")
    return found
